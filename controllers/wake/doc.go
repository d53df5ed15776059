// Package wake leads from events to reconciles, and puts off reconciles that come before the caches show what the last one wrote. It knows
// whose job an object is, when a pod has changed, and what was last written for a job. It does not know what a reconcile does.
//
// # Invariants
//
//   - A change of a pod in what a reconcile reads leads to a reconcile over its job, over both jobs if it changes hands.
//   - Nothing depends on what is remembered: a restart loses it, and a reconcile is put off for a moment only.
//
// Begin with podevents.go; ownwrites.go is the memory.
package wake
