// Package calls makes the operator's calls to the apiserver. It knows what a call must carry so that an old view does no harm: UIDs,
// resourceVersions, the fence. It knows how many calls may be under way, what an error means, and how calls end with the operator. It
// does not know why a call is made, and it writes no status: reconcilers do.
//
// # Invariants
//
//   - A delete or patch carries the UID of what was planned from: it changes nothing else.
//   - What has the name of something to be created, and belongs to somebody else, is left alone.
//   - Pods wait for what they need, and the end of the job for all. Nothing else waits for an action that failed.
//   - What the apiserver has refused for long is asked for at most once a minute, whatever events come.
//   - Of a batch that is refused again, three actions in a second are asked for, however many were refused.
//   - A reconcile carries out a bounded number of actions, in a bounded time.
//   - When the operator is told to end, no other action begins, and calls under way have LastCalls more.
//
// Begin with act.go: the verbs of a reconcile over a GenericJob.
//
//	pace.go           how many calls at once, and when it is enough
//	refusals.go       what was refused
//	batches.go        when it is asked for again
//	create.go         the fence, and what creates meet
//	errors.go         what errors mean
//	shutdown.go       how a reconcile ends early
//	gang.go           a gang scheduler's objects
//	pages.go          lists that are read live, page by page
//	rules.go          whether the apiserver takes restart rules
//	refusal_timer.go  for how long something is refused that is no such action
package calls
