// Package barrier is restart in place, as a job sees it: who waits for whom, what order each pod gets, and which ends wrappers hold.
//
// With restartScope Replica the operator orders the pod of a replica that has failed, by an annotation, to go on in the next attempt. With
// restartScope Job it first orders all pods to stop and to wait: that is the barrier. It opens when all of this holds:
//
//   - each unfinished replica that is not auxiliary has a pod that was made for this attempt, or whose wrapper reports that no earlier code runs
//   - no superseded pod is left, none of a replica that was scaled away, and the restart delay is over
//   - the new pods of types without a wrapper are there
//   - no kubelet is awaited that may know which failure came first; ten seconds are enough for that
//
// A replica that does not report gets a new pod, 30 seconds and its grace period after the barrier has closed. A report is ignored if it counts over
// 16 ends more than the kubelet.
//
// The operator writes into the status that the barrier is open (startedJobAttempt) before it lets any replica go. A pod's wrapper starts no code
// without an order, so the kubelet may start containers as often as it likes.
//
// # What a pod means
//
// The first three columns decide what a pod means:
//
//   - made: the attempt in the pod's labels. It is the present one, an earlier one, or too old. A pod is too old, and is replaced, if its attempt is
//     below minPodAttempt or minPodJobAttempt in the status.
//   - order: the order in the pod's annotation. It is of an earlier attempt; or of the present one, and then it says wait, or go.
//   - barrier: open or closed.
//
// The next four columns are the state that package podstate gives the pod, by the status of its container:
//
//   - runs: the code runs
//   - exited: the code has failed, and the kubelet starts the container again; exits in the status counts such ends
//   - succeeded, failed: the pod has ended
//
// The last column is the order that a pod gets next whose code runs. Alive goes on. Behind is asked to stop, and its failure belongs to an attempt
// that is over. Unwanted is stopped. Superseded is deleted.
//
//	made      order     barrier   runs       exited     succeeded   failed       gets
//	present   go        open      Alive      Exited     Succeeded   Failed       -
//	present   go        closed    Alive      Exited     Succeeded   Failed       wait
//	present   wait      open      Alive      Exited     Succeeded   Failed       go
//	present   wait      closed    Alive      Exited     Succeeded   Failed       -
//	present   earlier   open      Behind     Behind     Succeeded   Superseded   go
//	present   earlier   closed    Behind     Behind     Succeeded   Superseded   wait
//	earlier   go        open      Alive      Exited     Succeeded   Failed       -
//	earlier   go        closed    Behind     Behind     Succeeded   Superseded   wait
//	earlier   wait      open      Alive      Exited     Succeeded   Failed       go
//	earlier   wait      closed    Behind     Behind     Succeeded   Superseded   -
//	earlier   earlier   open      Behind     Behind     Succeeded   Superseded   go
//	earlier   earlier   closed    Behind     Behind     Succeeded   Superseded   wait
//	too-old   go        open      Unwanted   Unwanted   Succeeded   Superseded   -
//	too-old   go        closed    Unwanted   Unwanted   Succeeded   Superseded   -
//	too-old   wait      open      Unwanted   Unwanted   Succeeded   Superseded   -
//	too-old   wait      closed    Unwanted   Unwanted   Succeeded   Superseded   -
//	too-old   earlier   open      Unwanted   Unwanted   Succeeded   Superseded   -
//	too-old   earlier   closed    Unwanted   Unwanted   Succeeded   Superseded   -
//
// For example, rank 1 of three fails in attempt 0, and the pod of rank 2 is gone. The status gets attempt 1, which closes the barrier.
//
//	                                           rank 0                    rank 1                    rank 2
//	                                           made    order   barrier   made    order   barrier   made    order   barrier
//	attempt 0                                  present go      open      present go      open      present go      open
//	attempt 1 begins; no rank is told yet      earlier earlier closed    earlier earlier closed    no pod: a new one is made
//	wrappers stop code, and report attempt 1   earlier wait    closed    earlier wait    closed    present wait    closed
//	all are there: the barrier opens           earlier wait    open      earlier wait    open      present wait    open
//	ranks get the order to go, and run code    earlier go      open      earlier go      open      present go      open
//
// A test compares the table with the code. It has all combinations, and some cannot occur. An order is never of an earlier attempt than the pod was
// made for, so "present earlier" does not. A pod that is replaced gets a later attempt and no order, so "too-old go" and "too-old wait" do not. "go
// closed" is seen only where the job in view is older than the pod.
//
// The table is for pods of the present mode generation that nobody deletes, whose exits are not counted yet, and whose policy is not Always. For all
// others:
//
//   - A pod of an earlier mode generation is Unwanted while it runs, and Superseded if it has failed. A success counts.
//   - A pod that is being deleted is Terminating while it runs, or Lost if its node does not answer. What ends after that may be
//     Disrupted. If it is behind, it is Superseded.
//   - A container whose exits are counted, and which the kubelet starts again, counts as one that runs.
//   - With policy Always code runs again that has succeeded. A success in a pod that is behind or too old is Superseded.
//
// # Where the rest is
//
// Each of these files stands in the package that owns what it reads or writes:
//
//	podstate/inplace.go  reads the status of one pod's containers
//	ledger/inplace.go    writes attempts, counts and the barrier into the ledger
//	build/inplace.go     puts the wrapper into a pod
//	kernel/order.go      makes actions of orders
//	cmd/wrapper/run      is the wrapper
//	apis/inplace         is what the wrapper and the operator tell each other
package barrier
