// Package training reconciles the training jobs of all kinds, with one reconciler. It compiles a job by its kind's translator, keeps
// the GenericJob that the job owns as compiled, and mirrors that one's status. It makes no pods.
//
// Begin with reconcile.go; start.go, update.go and finished.go are what it does with a GenericJob, outcome.go what it shows.
// revisions.go has jobs compiled by the revision of a definition that they began with, and fault.go tells of a definition that cannot.
package training
