// Package definitions reconciles TrainingFrameworks. It says what is wrong with each, and has the kinds of the others served by package
// training.
//
// Begin with reconcile.go. kind.go finds or makes the kind's CRD. kinds.go has a cache and a controller for each kind, which come and go.
// rights.go asks whether the operator may serve it. stored.go looks for jobs that are in the way of an edit. events.go and ready.go have the conditions and events. revisions.go keeps
// the revisions that jobs need; setup.go wires it all. unserved.go tells jobs whose kind has no definition.
package definitions
