package incident

import (
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// lateFailures returns ends that came too late to be counted. They only serve to find the first failure. They are of the attempt before the present
// one, or, if previous is false, of the present attempt of a job that is over.
func (in *Inputs) lateFailures(previous bool) (list []End) {
	back := 0
	if previous {
		back = 1
	}
	for i := range in.Roster.Types {
		t := &in.Roster.Types[i]
		begun := in.begunTogether(t)
		for rank, pod := range t.Pods {
			if pod == nil || t.Auxiliary || t.HasSucceeded(rank) {
				continue
			}
			attempt := in.Ledger.Attempt(t.Account, rank) - back
			if e, ok := in.lateEnd(t, rank, attempt, begun); ok {
				e.isFinal = t.HasFailed(rank)
				list = append(list, e)
			}
		}
	}
	return list
}

// begunTogether returns when the replicas of a type were last told to go on together; zero if never.
func (in *Inputs) begunTogether(t *roster.Type) time.Time {
	if lived, bounds := in.Ledger.LivedTogether(t.Account, in.Now); bounds {
		return in.Now.Add(-lived)
	}
	return time.Time{}
}

// lateEnd returns how a replica's code has ended in an attempt, and whether it ended by itself: not because it was told to. Begun is when the replicas
// were last told to go on together.
func (in *Inputs) lateEnd(t *roster.Type, rank, attempt int, begun time.Time) (End, bool) {
	pod := t.Pod(rank)
	numbers := podstate.NumbersOf(pod.Pod)
	if report := in.Reports[pod.UID]; numbers.Order != nil && report.Pod == string(pod.UID) && report.Ended != nil && report.Ended.Attempt == attempt {
		return reportedEnd(pod, report.Ended)
	}
	switch {
	case numbers.CodeAttempt() != attempt && numbers.Order == nil, numbers.Attempt > attempt:
		return End{}, false
	case numbers.Order != nil && !pod.HasEnded():
		return endOf(pod.AtLastExit()), hasFailedAgain(t, rank)
	}
	if e, ok := ownEnd(pod, begun); ok || numbers.Order == nil {
		return e, ok
	}
	return endBeforeDeletion(t, rank, pod, begun)
}

// reportedEnd returns how code has ended by the report of its wrapper, and whether it ended by itself.
func reportedEnd(pod podstate.Pod, ended *inplace.End) (End, bool) {
	e := endOf(podstate.Pod{Pod: pod.WithEnd(ended), Template: pod.Template}.AtLastExit())
	return e, !ended.Asked || e.Follows == "" && podstate.NamesCause(&e.ReplicaFailure)
}

// endBeforeDeletion returns how code has failed in a pod that was deleted after its container had been started again, and whether it is known.
func endBeforeDeletion(t *roster.Type, rank int, pod podstate.Pod, begun time.Time) (End, bool) {
	if pod.DeletionTimestamp == nil || !hasFailedAgain(t, rank) {
		return End{}, false
	}
	last := pod.AtLastExit()
	return endOf(last), !last.EndedAt().Before(begun)
}

// hasFailedAgain reports whether the last failure of the container that restarts in place is not counted yet. It is false if the node does not know how
// the container ended: that was not the code.
func hasFailedAgain(t *roster.Type, rank int) bool {
	return t.HasNewExit(rank) && !t.Pod(rank).WasLostByNode()
}

// ownEnd returns how code has ended in a pod that is over, and whether it ended by itself since begun. The wrapper may have waited after that, so the
// code may be of an earlier start.
func ownEnd(pod podstate.Pod, begun time.Time) (End, bool) {
	own := pod.AtOwnEnd()
	isOld := pod.HasWaited() && own.EndedAt().Before(begun)
	return endOf(own), !isOld && own.HasFailedUnasked()
}

// endOf returns how code has ended, with the sentence about a failure as its why.
func endOf(pod podstate.Pod) End { return EndOf(pod, pod.FailureSentence) }
