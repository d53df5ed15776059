package kernel

import (
	"time"

	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// orderPod tells a replica's pod which attempt it is in, by the ledger, and whether its code may go on.
func (a *acting) orderPod(t *roster.Type, rank int) {
	have := t.Order(rank)
	if have == nil || a.verdict.Course != verdict.Run {
		return
	}
	want := barrier.OrderOf(a.ledger, t.Account, rank)
	if *have == want {
		return
	}
	if wait, _ := a.ledger.Delay(t.Account, rank, a.Now); wait > 0 && !a.ledger.RestartsTogether() {
		a.wakeAfter(wait)
		return
	}
	reason := "it goes on"
	if want.Go < want.Attempt {
		reason = "it waits for the others"
	}
	a.actions = append(a.actions, Action{Verb: OrderPod, Pod: t.Pods[rank], Order: want, Reason: reason})
}

// waitsForOrder reports whether a pod of a finished job waits for an order, or for the start of its container, which will not come. Until is after
// what time the kubelet will not start the container any more; 0 if the container has not ended.
func (a *acting) waitsForOrder(t *roster.Type, rank int, pod podstate.Pod) (waits bool, until time.Duration) {
	o := t.Order(rank)
	if o == nil || t.HasFinished(rank) {
		return false, 0
	}
	untilStranded := a.judge.UntilStranded(pod)
	waitsToGo := o.Go < o.Attempt || o.Attempt < a.ledger.Attempt(t.Account, rank)
	return untilStranded == 0 || waitsToGo || t.HasNewExit(rank), max(0, untilStranded)
}

// keepsLogs reports whether to keep a pod for its logs: its code has failed, and its wrapper waits. Such a pod is ended, and not deleted.
func (a *acting) keepsLogs(t *roster.Type, rank int, pod podstate.Pod) bool {
	waits, _ := a.waitsForOrder(t, rank, pod)
	return t.Order(rank) != nil && (t.HasFailed(rank) || waits && t.HasNewExit(rank))
}

// stopWaiting ends a pod that restarts in place and will run no more code, and releases it. The pod stays, with its logs. If its code has ended for
// good, it waits for nothing: what admission has added may still report.
func (a *acting) stopWaiting(pod podstate.Pod, reason string) {
	hasEnded := pod.OnlyAddedRun() && a.judge.UntilStranded(pod) < 0
	if hasEnded || !podstate.CanGoOn(pod.Pod) || isToldToEnd(pod) {
		a.releaseKept(pod, reason)
		return
	}
	a.do(EndPod, pod.Pod, "its code is not run again")
	a.release(pod.Pod, reason)
}
