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
// Begin with act.go: it carries out the actions of one reconcile over a GenericJob. Then read refusals.go, what the package remembers of refused actions.
package calls
