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
//   - No pod of a job that waits in a queue is made without its queue's admission; quota goes back when no pod uses it.
//   - What a gang scheduler waits for is never more than the replicas that have not finished.
//   - A pod loses its finalizer only when its outcome stands in the ledger or no longer matters.
//
// # The rooms
//
// Each knows those below it alone; the linter holds that. This package has the stages, in Plan, and the rules, in rules.go,
// whose order is the product's semantics, top to bottom.
//
//	kernel    Plan and its stages; the rules; actions             knows all below
//	status    what is told, in words, and when it may wait        not what is done
//	build     a pod, the Service, a gang scheduler's objects      neither endings nor statuses
//	queue     the Workload in Kueue: made, read, reported         neither pods nor ledgers
//	roster    the pods, each at its replica                       not what follows from them
//	ledger    outcomes, restarts, limits, delays, mode and clock  neither pods nor words
//	ending    what the state of one pod means, and why            neither jobs nor ledgers
//	spec      types, policies, names, variables, mistakes         neither pods nor statuses
//	verdict   what is to become of the job                        nothing
//	words     what code said last before it failed                nothing
//	text      texts cut to what can be stored                     nothing
//
// # The walk of a failed pod
//
//  1. Plan has ledger.Load read the accounts from the status; spec.Tasks says what types and policies they are of.
//  2. roster.Of puts the pod at its replica, by its labels and its name.
//  3. book (book.go) asks roster.Ending, which asks ending.Judge: the pod Failed, and ending.Failure says how.
//  4. book asks the ledger for the limits: the replica may be run again, or it is written there that it failed for good.
//  5. decide (rules.go) asks the rules, who can only read the ledger. Say that none ends the job: the verdict is to run.
//  6. settle (settle.go) writes the restart into the ledger: one attempt more, one restart more, and perhaps a delay.
//  7. act (act.go) finds that the pod is garbage now, and asks for its release and its deletion. In a later pass the
//     replica has no pod, and act asks for a new one, which build makes.
//  8. status.Of tells it: the ledger, the condition ReplicaFailure, an event. status.Wait finds that this cannot wait.
//  9. conclude (plan.go) makes the Decision of it.
package kernel
