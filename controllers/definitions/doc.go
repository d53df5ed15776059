// Package definitions reconciles TrainingFrameworks. It says what is wrong with each, and has the kinds of the others served by package
// training.
//
// Begin with reconcile.go: the steps from a definition to a served kind. Then read kinds.go, which starts and stops a cache and a controller for each kind.
package definitions
