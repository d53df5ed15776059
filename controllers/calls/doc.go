// Package calls makes the operator's calls to the apiserver. It knows what a call must carry so that an old view does no harm: UIDs,
// resourceVersions, the fence. It knows how many calls may be under way, what an error means, and how calls end with the operator. It
// does not know why a call is made, and it writes no status: reconcilers do.
//
// # What always holds
//
//   - A delete or patch carries the UID of what was planned from: it changes nothing else.
//   - What has the name of something to be created, and belongs to somebody else, is left alone.
//   - Pods wait for what they need, and the end of the job for all. Nothing else waits for an action that failed.
//   - What the apiserver has refused for long is asked for at most once a minute, whatever events come.
//   - Of a batch that is refused again, three actions in a second are asked for, however many were refused.
//   - A reconcile carries out a bounded number of actions, in a bounded time.
//   - When the operator is told to end, no other action begins, and calls under way have LastCalls more.
//
// # The life of one refused create
//
// A webhook is down, and a job lacks 100 workers:
//
//	when           what happens                                                                              file
//	at first       the first create goes alone, and fails. The refusal is in doubt, because it may pass      pace.go, refusals.go
//	               two more fail: their batch is closed for 20 ms, and the other workers wait                pace.go, batches.go
//	after 20 ms    it is tried again, before workers that were not; then after as long as it has lasted      batches.go, refusals.go
//	               what is tried again in vain keeps all of it waiting that was refused (closeRetried)       batches.go
//	50 refused     the batch is full: no other worker is tried until one of the batch is accepted            batches.go
//	after 10 s     it is told in the status; of a batch and a reason there is one event                      refusals.go
//	after 1 min    each refused worker is tried once a minute, whatever events come                          refusals.go
//	it succeeds    it is forgotten. Workers that were never refused go on, ever more of them at once         pace.go
//	               refused ones form a batch of their own, which may be closed while the other is open       batches.go
//	an edit        refused creates are forgotten, and batches are open: all is tried at once                 refusals.go
//
// What does not pass by itself, as an exceeded quota, is told at once, and tried again after 1 s instead of 20 ms.
//
// A name that is taken is refused of one object alone. It neither closes the batch nor fills it. It is tried again in the batch of those that were
// refused, three in a second. A look comes first, and a create only when the name is free.
//
// Begin with execute.go: it carries out the actions of one reconcile over a GenericJob. Then read refusals.go, what the package remembers of refused
// actions.
package calls
