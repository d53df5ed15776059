// Package wake leads from the events of pods to passes over their jobs, and puts off passes that would come before the
// caches show what the last pass wrote. It knows whose job an object is, when a pod has changed, and what was last written
// for a job. It does not know what a pass does.
//
// # Invariants
//
//   - A change of a pod in what a pass reads leads to a pass over its job, over both jobs if it changes hands.
//   - Nothing depends on what is remembered: a restart loses it, and a pass is put off for a moment only.
//
// Begin with podevents.go; ownwrites.go is the memory.
package wake
