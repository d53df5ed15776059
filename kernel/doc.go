// Package kernel decides what happens to a GenericJob. It is pure: Plan takes a World and returns a Decision. It has no
// client, no clock, no logger and no error return; a caller does the reading and the acting.
//
// # The model
//
// A replica is (type, rank). Its pod has a deterministic name, so there is at most one at a time. What must not be
// forgotten about a replica stands in the ledger, which is part of the job's status: whether it succeeded or failed for
// good, and how often it was replaced. A pod carries the attempt that it belongs to; a pod whose attempt is below the
// ledger's is garbage, to be deleted and never to be counted again.
//
// # Invariants
//
// They hold under any schedule of crashes, conflicts and independently stale caches, provided that the caller writes
// Decision.Status under the job's resourceVersion before it acts, and fences creates (see Decision):
//
//   - A replica whose success was seen is never run again in the same attempt of the job.
//   - Every failure is counted once: it spends one restart, or makes the replica fail for good, or falls to a
//     disruption, a pause or a restart of the whole job that was decided first.
//   - Nothing is created for a job that has finished.
//   - A pod loses its finalizer only when its outcome stands in the ledger or no longer matters.
//
// A job that has just begun may have pods and, for a second or two, no status: first.go says what is known of them without.
//
// # Reading order
//
// rules.go is the product's semantics, top to bottom; plan.go is how a pass goes; classify.go says what each pod's state
// means; book.go and restart.go keep the ledger; first.go is how a job begins; actions.go says what happens to each pod.
package kernel
