// Package kernel decides what happens to a GenericJob. It is pure: Plan takes a World and returns a Decision. It has no
// client, no clock, no logger and no error return; a caller does the reading and the acting.
//
// # The model
//
// A replica is (type, rank). Its pod has a deterministic name, so there is at most one at a time.
//
// The ledger is the part of the job's status that must not be forgotten. It says of each replica whether it succeeded or failed for good, and its
// attempt: how often it was started over. A pod's label says for which attempt the pod was made. If code restarts in place, an order in the pod's
// annotation says in which attempt the code is now.
//
// A pod is superseded if it belongs to an earlier attempt than the ledger's, and no order can move it to that one. It is deleted, and its end is
// never counted.
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
// is the product's semantics, top to bottom.
//
//	kernel    Plan and its stages; the rules; actions             knows all below
//	barrier   restart in place: who waits, orders, held ends      not what is done
//	incident  which failures belong together, which came first    neither limits nor rules
//	status    what is told, in words, and when it is postponed    not what is done
//	build     a pod, the Service, a gang scheduler's objects      neither pod states nor statuses
//	kueue     the Workload in Kueue: made, read, reported         neither ledgers nor what pods mean
//	roster    the pods, each at its replica                       not what follows from them
//	ledger    outcomes, restarts, limits, delays, mode and clock  neither pods nor words
//	podstate  what the status of one pod means, and why           neither jobs nor ledgers
//	spec      types, policies, names, variables, mistakes         no pods; statuses with few exceptions
//	verdict   what is to become of the job                        nothing
//	output    what code printed last before it failed             nothing
//	text      texts cut to what can be stored                     nothing
//
// # The files
//
// Each file of this package is a stage, a rule, one feature, or a helper of these. The stages are those of Plan, as below. More tests of a feature
// begin with its name, as first_failure_age_test.go, and stories_test.go has whole lives.
//
//	file                      called in stage              what it has                                  first of its tests
//	act.go                    act                          which actions, by the state of each pod      clean_up_test.go
//	action.go                 the caller                   what an action is; the pod of a CreatePod    internal_test.go
//	apply.go                  apply                        restarts, written into the draft             outcomes_test.go
//	auxiliary.go              act                          auxiliary pods of a finished job             auxiliary_test.go
//	avoid_nodes.go            observe, apply, act          failures that count for nodes                avoid_nodes_test.go
//	avoid_nodes_late.go       apply                        a first failure that becomes known late      avoid_nodes_test.go
//	budget.go                 record                       which ends the limits allow to restart       budget_test.go
//	clean_up.go               act                          pods of a finished job                       clean_up_test.go
//	create.go                 act                          pods and the Service                         start_policy_test.go
//	defaults.go               kubectl gj why               what happens by default, as a list           defaults_test.go
//	expire.go                 act                          ttlSecondsAfterFinished                      clean_up_test.go
//	failure_policy.go         record, decide               rules of failurePolicy                       failure_policy_test.go
//	finish.go                 decide                       success rules and failure rules              rules_test.go
//	first_failure.go          record, apply                which failure came first                     first_failure_test.go
//	gang.go                   apply, act                   groups of gang schedulers                    gang_test.go
//	hang.go                   record                       hangs of several replicas                    hang_test.go
//	history.go                apply                        why time was lost                            history_test.go
//	kueue.go                  decide, act                  the queue of Kueue                           kueue_test.go
//	lives.go                  decide, apply                for how long replicas have lived            lives_test.go
//	misplaced_ranks.go        tell                         pods that Kueue has not placed by rank       kueue_order_test.go
//	no_progress.go            record, tell, the caller     failures in a row without a newer step       no_progress_test.go
//	order.go                  act                          orders of pods that restart in place         inplace_test.go
//	outcomes.go               record                       what the ends of pods mean                   outcomes_test.go
//	plan.go                   all                          the stages                                   walk_test.go
//	progress.go               tell, the caller             the code's step and loss                     signs_test.go
//	quota.go                  decide, act                  whether the queue's quota is enough          kueue_test.go
//	recomputed.go             tell                         steps that are done again                    recomputed_test.go
//	recovery.go               tell                         the first step after a loss                  recovery_test.go
//	refusals.go               the caller                   what the apiserver refuses                   refusals_test.go
//	refused_restart_rules.go  the caller                   whether it refuses the operator's own rules  refused_restart_rules_test.go
//	release.go                observe, act, tell           finalizers                                   pod_metadata_test.go
//	rules.go                  decide                       the rules in their order                     rules_test.go
//	ruling.go                 record                       what becomes of an end                       ruling_test.go
//	silent_scheduler.go       apply                        schedulers that do not run                   gang_test.go
//	stop_together.go          record                       stopTogether                                 signs_test.go
//	time.go                   decide, apply                what time is spent on                        time_test.go
//	weight.go                 the caller                   how much memory a plan takes                 bounded_test.go
//	world.go                  all                          World and Decision                           hostile_test.go
//
// # The walk of a failed pod
//
// Plan has six stages: observe, record, decide, apply, act, tell. This is what each calls, in that order. A pod of a running job has failed, and its
// replica may run again.
//
// observe:
//
//   - ledger.Load reads the accounts from the status into a draft. spec.ReplicaTypes says of which types they are, and with which policies.
//   - barrier.WithHeldEnds copies pods whose wrappers hold an end, and shows the end as that of the container. roster.Of finds the replica of each
//     pod.
//   - decidedByStatus (plan.go) ends the walk if the job is being deleted, or if its status cannot be read or is older than a pod. Here it does not.
//
// record:
//
//   - draft.SetMissingStartTime notes when the job began, if the status does not say it. draft.BeginModeGenerationIfEdited begins a mode generation
//     if somebody edited the spec.
//   - recordOutcomes (outcomes.go) has recordEnds ask roster.State what the pod means, which asks podstate.Judge: it is Failed. endOf (ruling.go)
//     rules what becomes of this end. Pod.FailureSentence says how the code failed. Perhaps all failures of this reconcile are hangs, or follow from
//     the end of another replica. While another one still runs, none is counted for up to four seconds: then that end may be known, too. With
//     noProgress they also wait for the step.
//   - outcomes.count (outcomes.go) calls applyFailurePolicy (failure_policy.go) and applyNoProgress (no_progress.go), which may fail the job by this
//     failure. Then it calls applyLimits (budget.go): within its limits the replica may run again. Otherwise the draft gets that it has failed
//     for good.
//
// decide:
//
//   - askRulesAndCount (plan.go) asks the rules (rules.go), which read the ledger and cannot change it. No rule ends the job: the verdict is to run.
//   - findWhereJobGoesOn (outcomes.go) finds whether the others go on after the failure. lossOf (time.go) finds what the job loses by it.
//
// apply:
//
//   - incidentOf (first_failure.go) asks package incident whether the failure begins an incident. reportFirst (first_failure.go) has users
//     hear of the first one. Then countNodeFailures (avoid_nodes.go) counts it for its node, if the job has avoidNodes.
//   - applyVerdict (apply.go) writes the restart into the draft: one attempt more, one restart more, perhaps a delay. From here on the pod is
//     Superseded, or Behind if its code restarts in it. draft.NoteCodeStarted notes that code has started: from now on edits need a pause.
//   - findFirstFailure (first_failure.go) asks the incident which failure came first. If that was another one than known so far,
//     correctNodeFailures (avoid_nodes_late.go) counts it for its node.
//   - openBarrierAndFormGang (plan.go) opens the barrier if all replicas have come to it, and forms the gang.
//   - explainLoss (history.go) and noteTime (time.go) write into the draft why the job lost time, and since when.
//
// act:
//
//   - listActions (act.go) asks for the release and the deletion of the pod. In a later reconcile the replica has no pod. Then createMissing
//     (create.go) asks for a new one, which package build describes.
//
// tell:
//
//   - progress (progress.go) says which step the code has told, and when to ask again. addRecomputedTime (recomputed.go) and noteFirstStep
//     (recovery.go) compare the step with those before the loss.
//   - makeDecision (plan.go) makes the Decision. status.Of makes the status from the draft and the verdict, with the condition ReplicaFailure and an
//     event. status.PostponedFor says that this status must be written now.
//
// What is left after that is the caller's: it writes the status, then carries out the actions. See Decision.
package kernel
