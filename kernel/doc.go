// Package kernel decides what happens to a GenericJob. It is pure: Plan takes a World and returns a Decision. It has no
// client, no clock, no logger and no error return; a caller does the reading and the acting.
//
// # The model
//
// A replica is (type, rank). Its pod has a deterministic name, so there is at most one at a time.
//
// What must not be forgotten about a replica is in the ledger, a part of the job's status. That is whether it succeeded or failed for good, and its attempt:
// how often it was started over. A pod's label says for which attempt the pod was made. If code restarts in place, an order in the pod's annotation says
// in which attempt it is now.
//
// A pod is superseded if it belongs to an earlier attempt than the ledger's, and no order can move it to that one. It is deleted, and its end is never
// counted.
//
// # Invariants
//
// They hold under any schedule of crashes, conflicts and independently stale caches. For that the caller writes Decision.Status under the job's
// resourceVersion before it acts. If there is no status to write, it has a fence (see Decision).
//
//   - A replica whose success stands in the ledger is not run again in the same job attempt, unless it was scaled away and comes back.
//   - A failure that a limit counts is counted once: it spends one restart, or makes the replica fail for good. No limit counts a failure of an
//     auxiliary replica, a failure that belongs to a counted hang, or one that a rule excepts. No limit counts a failure either if a disruption, a
//     pause or a restart of the whole job was decided before it.
//   - Nothing is created for a job that has finished.
//   - No pod of a job with a queue is created before the queue admits the job. Quota goes back only when no pod uses it.
//   - What a gang scheduler waits for is never more than the replicas that have not finished.
//   - A pod loses its finalizer only when its outcome stands in the ledger or no longer matters.
//
// # The packages
//
// Each imports only those below it; the linter holds that. This package has the stages, in Plan, and the rules. The order of the rules, in rules.go,
// is the product's semantics, top to bottom. Each file here is a stage, a rule, one feature, or a helper of these.
//
//	kernel    Plan and its stages; the rules; actions             knows all below
//	barrier   restart in place: who waits, orders, held ends      not what is done
//	status    what is told, in words, and when it is postponed    not what is done
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
//  2. barrier.WithReportedExits edits copies of pods whose wrappers hold an end; roster.Of puts each pod at its replica.
//  3. decidedByStatus (plan.go) ends the walk if the job is being deleted, or if its status cannot be read or is older than a pod. Here it does not.
//     If the job has no start time yet, draft.Recognise finds in the pods when it began. If the spec was edited before code started,
//     draft.AnswerEdit begins a mode generation.
//  4. recordOutcomes (outcomes.go) asks roster.Ending, which asks ending.Judge: the ending is Failed. Pod.Failure says how the code failed. If the
//     failure follows from the end of another replica, the record waits a few seconds for that one.
//  5. applyFailurePolicy (failure_policy.go) has rules of the spec judge it, if there are any, and applyNoProgress (no_progress.go) whether the job has
//     moved since the failure before. applyRestartBudget (budget.go) asks the ledger for the limits: the replica may run again, or the ledger gets that it failed for good.
//  6. decideAndCount (plan.go) asks the rules (rules.go), which can only read the ledger. Say that none ends the job: the verdict is to run.
//  7. applyVerdict (apply.go) writes the restart into the ledger: one attempt more, one restart more, and perhaps a delay. If code has started, or
//     the job is over, draft.ForgetUnstarted writes that edits need a pause from now on.
//  8. firstFailure (first.go) says which of several failures came first. With avoidNodes, blame and reconsider (avoid.go) count it for its node.
//  9. meet (plan.go) opens the barrier if all replicas have come to it, and forms the gang.
//  10. listActions (act.go) finds that the pod is superseded now, and asks for its release and its deletion. In a later reconcile the
//     replica has no pod, and listActions asks for a new one (create.go), which build makes. progress (progress.go) says which step the code has told,
//     and when to ask again.
//     explain (history.go) and spendTime (time.go) have told of the loss before that, and dated it by when the code ended.
//  11. status.Of makes the status of all this: the ledger, the condition ReplicaFailure, an event. status.PostponedFor says that this is written now.
//  12. tell (plan.go) makes the Decision of it.
package kernel
