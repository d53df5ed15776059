// Package training reconciles the training jobs of all kinds, with one reconciler. The translator of its kind compiles a training job to a GenericJob.
// The reconciler creates that, brings it back to what was compiled if it differs, and mirrors its status. It creates no pods.
//
// Begin with reconcile.go. Then read outcome.go: what a training job shows. The revision of a definition with which a job began compiles it to its end:
// see revisions.go.
package training
