// Package calls makes the operator's calls to the apiserver. It knows what a call must carry so that an old view does no
// harm (UIDs, resourceVersions, the fence), how many may be under way at once, what an error means, and how calls end with
// the operator. It does not know why a call is made, and it writes no status: that is up to the reconcilers.
//
// # Invariants
//
//   - A delete or patch carries the UID of what was planned from: it changes nothing else.
//   - What has the name of something to be created and is not the job's own is left alone.
//   - Pods wait for what they need, and the end of the job for all. Nothing else waits for an action that failed.
//   - What has been refused for long is asked for at most once a minute, whatever events come; and of a batch three in a second, if they are
//     refused again, however many have been refused.
//   - A reconcile carries out a bounded number of actions, in a bounded time.
//   - When the operator is told to end, no other action begins, and calls under way have LastCalls more.
//
// Begin with act.go: the verbs of a reconcile over a GenericJob. pace.go says how many at once, and when it is
// enough; refusals.go remembers what was refused, batches.go when it is asked for again; create.go has the fence and what creates meet, errors.go what errors mean,
// ending.go how a reconcile ends early. faults.go is for reconciles that have no such actions.
package calls
