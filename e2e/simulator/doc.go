// Package simulator lives the lives of jobs in a simulated cluster, to find the schedule that breaks the operator. What
// runs is real: kernel.Plan, the translators and the reconcilers of controllers/jobs and controllers/training. What is simulated is the world
// around them: an API with resourceVersions, finalizers, graceful deletion and garbage collection; informer caches that
// lag behind it, each kind on its own; calls that fail, that succeed and lose their answer, or that are carried out when
// their client has given up; operators that crash between two calls and come back with stale lists; two operators that
// both believe to lead; policies and webhooks that refuse creates, patches or deletes, for a while or for good; nodes that
// are lost, drained and evicted; users who pause, scale, delete, re-create and strip finalizers; clocks that jump.
//
// Everything that happens in a life is drawn from one Tape of bytes, so that a life can be repeated, fuzzed, and shrunk to
// the few events that matter. A life of a Scope is not drawn: it is the healthy life but for a list of deviations, and an Exploration lives
// all that have a few. While it goes on, a record is kept of what really happened (truth), and compared with what
// the operator believes. Each invariant is named after the failure in the field that it stands for.
//
// Two differential tests hold it to the real ones: the API to what a real apiserver answers to the same calls, and the kubelet to what pods of a real
// kubelet have looked like, one look after another (Looks).
//
// Tests alone import this package.
package simulator
