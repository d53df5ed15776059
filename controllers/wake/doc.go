// Package wake leads from events to reconciles, and puts off reconciles that come before the caches show what the last one wrote. It knows
// whose job an object is, when a pod has changed, and what was last written for a job. It does not know what a reconcile does.
//
// # What always holds
//
//   - If a pod changes in something that a reconcile reads, a reconcile over its job follows. If the pod gets another owner, reconciles over both
//     jobs follow.
//   - Nothing depends on what is remembered: a restart loses it, and a reconcile is put off for a moment only.
//
// Begin with podevents.go, which decides for a change of a pod. Then read ownwrites.go, which remembers what was last written for each job.
package wake
