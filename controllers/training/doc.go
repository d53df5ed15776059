// Package training reconciles the training jobs of all kinds, with one reconciler. The translator of its kind compiles a training job to a GenericJob.
// The reconciler creates that, brings it back to what was compiled if it differs, and mirrors its status. It creates no pods.
//
// Begin with reconcile.go. What is done with a GenericJob is in start.go, update.go and finished.go. What a training job shows is in outcome.go.
// revisions.go chooses the revision of a definition that compiles a job: the one with which the job began. definition_error.go tells of a definition
// that cannot.
package training
