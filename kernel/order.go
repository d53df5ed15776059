package kernel

import (
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
)

// order tells the pod of a replica to be at the ledger's attempt, and whether it may go on there.
func (a *acting) order(t *roster.Type, rank int) {
	have := t.Order(rank)
	if have == nil || !a.runs {
		return
	}
	want := barrier.OrderOf(a.ledger, t.Account, rank)
	if *have == want {
		return
	}
	if wait, _ := a.ledger.Delay(t.Account, rank, a.Now); wait > 0 && !a.ledger.WholeJob() {
		a.wakeAfter(wait)
		return
	}
	reason := "it goes on"
	if want.Go < want.Attempt {
		reason = "it waits for the others"
	}
	a.actions = append(a.actions, Action{Verb: OrderPod, Pod: t.Pods[rank], Order: want, Reason: reason})
}

// watchWaiting reports whether a pod waits for an order, or for a start, that does not come because its job has finished. It has the job looked at
// again when a kubelet will not start its container any more.
func (a *acting) watchWaiting(t *roster.Type, rank int, pod ending.Pod) bool {
	o := t.Order(rank)
	if o == nil || t.Finished(rank) {
		return false
	}
	stays := a.judge.UntilStranded(pod)
	a.wakeAfter(max(0, stays))
	return stays == 0 || o.Go < o.Attempt || o.Attempt < a.ledger.Attempt(t.Account, rank) || pod.Exits() > t.Exits(rank, pod.UID)
}

// keepsLogs reports whether to keep a pod for its logs: its code has failed, and its wrapper waits. Such a pod is ended where it is.
func (a *acting) keepsLogs(t *roster.Type, rank int, pod ending.Pod) bool {
	return t.Order(rank) != nil && (t.HasFailed(rank) || a.watchWaiting(t, rank, pod) && pod.Exits() > t.Exits(rank, pod.UID))
}

// stopWaiting ends a pod that restarts in place and in which no code runs, nor ever will: the pod stays, with its logs.
func (a *acting) stopWaiting(pod ending.Pod) {
	if ending.CanGoOn(pod.Pod) && !isToldToEnd(pod) {
		a.do(EndPod, pod.Pod, "its code is not run again")
	}
}

// isToldToEnd reports whether a pod has the deadline that EndPod gives it, or no longer one.
func isToldToEnd(pod ending.Pod) bool {
	deadline := pod.Spec.ActiveDeadlineSeconds
	return deadline != nil && *deadline <= 1
}
