// Package barrier is restart in place, as a job sees it: who waits for whom, what order each pod gets, and which ends wrappers hold.
//
// With restartScope Replica the operator orders the pod of a replica that has failed, by an annotation, to go on in the next attempt. With
// restartScope Job the end of one replica, by a failure or a disruption, begins a job attempt. The operator then first orders all pods to stop and to
// wait: that is the barrier. It opens when no code of an earlier attempt runs any more, and all can go on. The section "The barrier" of kernel/DESIGN.md
// has each condition, and what happens meanwhile.
//
// A type whose template names no command, for example, has no wrapper, so it gets new pods. So does a replica whose wrapper does not report in time, at
// once if its pod cannot run code again or is stranded.
//
// The operator writes into the status that the barrier is open (startedJobAttempt) before it lets any replica go. A pod's wrapper starts no code
// without an order, so the kubelet may start containers as often as it likes.
//
// # What a pod means
//
// A pod has two numbers. Its labels say for which attempt it was made. Its order, an annotation, says in which attempt its code is. The status has the
// attempt that is to run: this attempt. It also has minPodAttempt and minPodJobAttempt: a pod that was made for less is obsolete, and is
// replaced. The attempt of a replica is the sum of the job attempt and its own restarts and replacements.
//
// First: is the code in the pod that of this attempt? Take the one row that fits.
//
//	the pod was made for   its order is of      the barrier is   so the pod is
//	this attempt           this attempt         open or closed   current
//	this attempt           an earlier attempt   open or closed   behind
//	an earlier attempt     this attempt         open             current
//	an earlier attempt     this attempt         closed           behind
//	an earlier attempt     an earlier attempt   open or closed   behind
//	one that is obsolete   any attempt          open or closed   obsolete
//
// Second: what does its container do? That gives the state, as package podstate names it. FailedInPod means that the kubelet starts the
// container again.
//
//	the pod is   code runs   code failed, and can run again   succeeded   failed
//	current      Alive       FailedInPod                      Succeeded   Failed
//	behind       Behind      Behind                           Succeeded   Superseded
//	obsolete     Unwanted    Unwanted                         Succeeded   Superseded
//
// A pod that is Alive goes on. One that is Behind is asked to stop, and its failure belongs to an attempt that is over. One that is Unwanted is
// stopped. One that is Superseded is deleted.
//
// Third: which order does a pod get whose code runs? None if it is obsolete, or has this order already. In an order to wait, Go is 0.
//
//	the barrier is   the order of this attempt
//	open             go
//	closed           wait
//
// For example, rank 1 of three fails in attempt 0, and the pod of rank 2 is gone. The status gets attempt 1, which closes the barrier.
//
//	                                          barrier   ranks 0 and 1: made, order, so   rank 2: made, order, so
//	attempt 0 runs                            open      for 0, go in 0, current          for 0, go in 0, current
//	attempt 1 begins, and no order is given   closed    for 0, go in 0, behind           no pod: a new one is made
//	wrappers stop the code, and report that   closed    for 0, wait in 1, behind         for 1, wait in 1, current
//	all have arrived: the barrier opens       open      for 0, wait in 1, current        for 1, wait in 1, current
//	all get the order to go, and run code     open      for 0, go in 1, current          for 1, go in 1, current
//
// A test compares the tables with the code, for all combinations. Some cannot occur. An order is never of an earlier attempt than the pod was made
// for. An obsolete pod has no order of this attempt. An order to go while the barrier is closed is seen only where the job in view is older than the
// pod.
//
// The tables are for pods of the present mode generation that nobody deletes, whose exits are not counted yet, and whose policy is not Always. For all
// others:
//
//   - A pod of an earlier mode generation is Unwanted while it runs, and Superseded if it has failed. A success counts.
//   - A pod that is being deleted is Terminating while it runs, or Lost if its node does not answer. What ends after that may be
//     Disrupted. If it is behind, it is Superseded.
//   - A container whose exits are counted, and which the kubelet starts again, counts as one that runs.
//   - With policy Always code runs again that has succeeded. A success in a pod that is behind or obsolete is Superseded.
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
