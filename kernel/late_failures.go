package kernel

import (
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// lateFailures returns ends that came too late to be counted. They only serve to find the first failure. They are of the attempt before the present
// one, or, if previous is false, of the present attempt of a job that is over.
func lateFailures(w World, l *ledger.Ledger, replicas *roster.Roster, previous bool) (list []codeEnd) {
	back := 0
	if previous {
		back = 1
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		begun := begunTogether(w, l, t)
		for rank, pod := range t.Pods {
			if pod == nil || t.Auxiliary || t.HasSucceeded(rank) {
				continue
			}
			attempt := l.Attempt(t.Account, rank) - back
			if e, ok := lateEnd(w, t, rank, attempt, begun); ok {
				e.isFinal = t.HasFailed(rank)
				list = append(list, e)
			}
		}
	}
	return list
}

// begunTogether returns when the replicas of a type were last told to go on together; zero if never.
func begunTogether(w World, l *ledger.Ledger, t *roster.Type) time.Time {
	if lived, bounds := l.LivedTogether(t.Account, w.Now); bounds {
		return w.Now.Add(-lived)
	}
	return time.Time{}
}

// lateEnd returns how a replica's code has ended in an attempt, and whether it ended by itself: not because it was told to. Begun is when the replicas
// were last told to go on together.
func lateEnd(w World, t *roster.Type, rank, attempt int, begun time.Time) (codeEnd, bool) {
	pod := t.Pod(rank)
	numbers := podstate.NumbersOf(pod.Pod)
	if report := w.Reports[pod.UID]; numbers.Order != nil && report.Pod == string(pod.UID) && report.Ended != nil && report.Ended.Attempt == attempt {
		return reportedEnd(pod, report.Ended)
	}
	switch {
	case numbers.CodeAttempt() != attempt && numbers.Order == nil, numbers.Attempt > attempt:
		return codeEnd{}, false
	case numbers.Order != nil && !pod.HasEnded():
		return codeEndOf(pod.AtLastExit()), hasFailedAgain(t, rank, pod)
	}
	if e, ok := ownEnd(pod, begun); ok || numbers.Order == nil {
		return e, ok
	}
	return endBeforeDeletion(t, rank, pod, begun)
}

// reportedEnd returns how code has ended by the report of its wrapper, and whether it ended by itself.
func reportedEnd(pod podstate.Pod, ended *inplace.End) (codeEnd, bool) {
	e := codeEndOf(podstate.Pod{Pod: pod.WithEnd(barrier.Terminated(ended)), Template: pod.Template}.AtLastExit())
	return e, !ended.Asked || e.Follows == "" && podstate.NamesCause(&e.ReplicaFailure)
}

// endBeforeDeletion returns how code has failed in a pod that was deleted after its container had been started again, and whether it is known.
func endBeforeDeletion(t *roster.Type, rank int, pod podstate.Pod, begun time.Time) (codeEnd, bool) {
	if pod.DeletionTimestamp == nil || !hasFailedAgain(t, rank, pod) {
		return codeEnd{}, false
	}
	last := pod.AtLastExit()
	return codeEndOf(last), !last.EndedAt().Before(begun)
}

// hasFailedAgain reports whether the last failure of the container that restarts in place is not counted yet. It is false if the node does not know how
// the container ended: that was not the code.
func hasFailedAgain(t *roster.Type, rank int, pod podstate.Pod) bool {
	return hasUncountedExit(t, rank, pod) && !pod.WasLostByNode()
}

// ownEnd returns how code has ended in a pod that is over, and whether it ended by itself since begun. The wrapper may have waited after that, so the
// code may be of an earlier start.
func ownEnd(pod podstate.Pod, begun time.Time) (codeEnd, bool) {
	own := pod.AtOwnEnd()
	isOld := pod.HasWaited() && own.EndedAt().Before(begun)
	return codeEndOf(own), !isOld && own.HasFailedUnasked()
}

// mayTellCause reports whether to keep a pod that may be the cause of a job's failure. It does if the job has just failed, and all known failures
// followed from the end of another pod. The pod then keeps its finalizer until its end has been read, for a minute at most. After that the job is
// looked at again: until says when. A pod that has a node may run, though no kubelet has said so yet.
func (a *acting) mayTellCause(t *roster.Type, rank int, pod podstate.Pod) (may bool, until time.Duration) {
	left := a.untilCauseIsGivenUp()
	if left <= 0 || pod.HasEnded() || pod.Spec.NodeName == "" || t.Auxiliary || t.HasSucceeded(rank) || a.replicas.IsToBeReplaced(t, rank) {
		return false, 0
	}
	return true, left
}

// untilCauseIsGivenUp returns how much longer the pods of a job that has just failed are searched for the cause. It is zero or less if the cause is
// known.
func (a *acting) untilCauseIsGivenUp() time.Duration {
	f := a.first
	if a.hasSucceeded || f == nil || f.Follows == "" || f.Time == nil {
		return 0
	}
	since := a.sinceEnd()
	if a.Now.Add(-since).Sub(f.Time.Time) > belongsWithin {
		return 0
	}
	return causeAfterEnd - since
}
