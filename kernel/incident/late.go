package incident

import (
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// lateFailures returns failures that came too late to be counted. They only serve to find the first failure. They are of the attempt in which the
// incident began: if all replicas begin anew since, that is the one before the present attempt.
func (i Incident) lateFailures() (list []Failure) {
	back := 0
	if i.isRestarted() {
		back = 1
	}
	for n := range i.Roster.Types {
		t := &i.Roster.Types[n]
		begun := i.Ledger.BegunTogether(t.Account, i.Now)
		for rank, pod := range t.Pods {
			if pod == nil || t.Auxiliary || t.HasSucceeded(rank) {
				continue
			}
			attempt := i.Ledger.Attempt(t.Account, rank) - back
			if f, ok := i.lateFailure(t, rank, attempt, begun); ok {
				f.isFinal = t.HasFailed(rank)
				list = append(list, f)
			}
		}
	}
	return list
}

// lateFailure returns how a replica's code has failed in an attempt, and whether it ended by itself: not because it was told to. Begun is when the
// replicas were last told to go on together.
func (i Incident) lateFailure(t *roster.Type, rank, attempt int, begun time.Time) (Failure, bool) {
	pod := t.Pod(rank)
	numbers := podstate.NumbersOf(pod.Pod)
	if report := i.Reports[pod.UID]; numbers.Order != nil && report.Pod == string(pod.UID) && report.Ended != nil && report.Ended.Attempt == attempt {
		return reportedFailure(pod, report.Ended)
	}
	switch {
	case numbers.CodeAttempt() != attempt && numbers.Order == nil, numbers.Attempt > attempt:
		return Failure{}, false
	case numbers.Order != nil && !pod.HasEnded():
		return lateFailureOf(pod.AtLastExit()), hasFailedAgain(t, rank)
	}
	if f, ok := ownFailure(pod, begun); ok || numbers.Order == nil {
		return f, ok
	}
	return failureBeforeDeletion(t, rank, pod, begun)
}

// reportedFailure returns how code has failed by the report of its wrapper, and whether it ended by itself.
func reportedFailure(pod podstate.Pod, ended *inplace.End) (Failure, bool) {
	f := lateFailureOf(podstate.Pod{Pod: pod.WithEnd(ended), Template: pod.Template}.AtLastExit())
	return f, !ended.Asked || f.Follows == "" && podstate.NamesCause(&f.ReplicaFailure)
}

// failureBeforeDeletion returns how code has failed in a pod that was deleted after its container had been started again, and whether it is known.
func failureBeforeDeletion(t *roster.Type, rank int, pod podstate.Pod, begun time.Time) (Failure, bool) {
	if pod.DeletionTimestamp == nil || !hasFailedAgain(t, rank) {
		return Failure{}, false
	}
	last := pod.AtLastExit()
	return lateFailureOf(last), !last.DecidedAt().Before(begun)
}

// hasFailedAgain reports whether the last failure of the container that restarts in place is not counted yet. It is false if the node does not know
// how the container ended: that was not the code.
func hasFailedAgain(t *roster.Type, rank int) bool {
	return t.HasNewExit(rank) && !t.Pod(rank).WasLostByNode()
}

// ownFailure returns how code has failed in a pod that is over, and whether it ended by itself since begun. The wrapper may have waited after that,
// so the code may be of an earlier start.
func ownFailure(pod podstate.Pod, begun time.Time) (Failure, bool) {
	own := pod.AtOwnEnd()
	isOld := pod.HasWaited() && own.DecidedAt().Before(begun)
	return lateFailureOf(own), !isOld && own.HasFailedUnasked()
}

// lateFailureOf returns how code has failed that was not counted, with the sentence about a failure as its why.
func lateFailureOf(pod podstate.Pod) Failure { return FailureOf(pod, pod.FailureSentence) }
