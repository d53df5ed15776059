// Package simulator lives the lives of jobs in a simulated cluster, to find the schedule that breaks the operator. What runs is real: kernel.Plan,
// the translators and the reconcilers of controllers/jobs and controllers/training. What is simulated is the world around them.
//
//   - an API with resourceVersions, finalizers, graceful deletion and garbage collection
//   - informer caches that lag behind it, each kind on its own
//   - calls that fail, that succeed and lose their answer, or that are carried out when their client has given up
//   - operators that crash between two calls and come back with stale lists, and two that both believe to lead
//   - policies and webhooks that refuse creates, patches or deletes, for a while or for good
//   - nodes that are lost, drained and evicted; users who pause, scale, delete, re-create and strip finalizers; clocks that jump
//
// All that happens in a life is drawn from one Tape of bytes. So a life can be repeated, fuzzed, and shrunk to the few events that matter. A life of
// a Miniature is not drawn: it is the healthy life but for a list of deviations. An Exploration lives all that have a few. While a life goes on, a
// record (truth) is kept of what really happened. The invariants compare what the operator does with it. Each is named after the failure in the field
// that it stands for.
//
// Two differential tests compare it with real ones. The API must answer as a real apiserver does to the same calls. The kubelet's pods must look as
// those of a real kubelet have, one look after another (Looks).
//
// # Begin with
//
// Read four files first:
//
//	life.go      a life from its beginning to its end
//	tape.go      how all of it is drawn
//	operator.go  an operator with its caches
//	truth.go     what really happened
//
// Then sick.go shows a whole fault: state, draw and invariants in one file.
//
// # To add a fault
//
//   - A state: a field of Life, in the group of what it befalls (life.go), or of api, where it is the API's.
//   - A draw: what is drawn once is set in Live, what happens now and then is done in step, or in podTrouble. Draw by spare or spareOf if you can: any
//     other draw changes the lives of all seeds.
//   - Its end: calmDown (calm.go) heals what would keep a job from coming to rest.
//   - An invariant: a method of truth that calls violated with the name of the failure. Those of invariants.go call it, at each write.
//   - A mutant in mutants/list.go or mutants/features.go: a change of production code that only this invariant finds.
//   - A miniature in miniatures.go, if few deviations from the healthy life reach the fault.
//
// Tests alone import this package.
package simulator
