package kernel

import (
	"cmp"
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// incident is a group of failures that belong together. One came first. The others are of code that ran at that time.
type incident struct {
	stored           *v1beta1.FirstFailure // the first failure, by the status; nil if the incident begins in this reconcile
	jobAttempt       int32                 // in which the code failed
	restartsTogether bool                  // all replicas restart together
	runsSince        time.Time             // when the replica that failed first began to run again; zero if it has not
	// newFailures is how many failures this reconcile adds to the stored number, if replicas restart one by one. The pods of the stored ones may be gone.
	newFailures int32
}

// incidentOf returns the incident of the stored first failure, or a new one, if a failure of this reconcile does not belong to that.
func incidentOf(w World, l *ledger.Ledger, replicas *roster.Roster, recorded []codeEnd) incident {
	i := incident{stored: w.Job.Status.FirstFailure, jobAttempt: w.Job.Status.JobAttempt, restartsTogether: l.RestartsTogether()}
	if len(recorded) > 0 { // else nobody asks
		i.runsSince = runsAgainSince(replicas, i.stored)
	}
	if slices.ContainsFunc(recorded, func(e codeEnd) bool { return !i.includes(&e) }) {
		i.stored = nil
	}
	for _, e := range recorded {
		// Code that began later may be of a replica that is counted already, and has started anew since.
		if !i.restartsTogether && i.stored != nil && !e.beganAt.IsZero() && e.beganAt.Before(i.stored.Time.Time) {
			i.newFailures++
		}
	}
	return i
}

// includes reports whether a failure belongs to the incident. Its code must have run when the first failure came. And it follows from another replica's
// end, or came within belongsWithin. If replicas restart one by one, a failure that follows stops to belong when the first replica has run again for
// belongsWithin.
func (i incident) includes(e *codeEnd) bool {
	if i.stored == nil || i.stored.Time == nil || !i.isSameStart(e) {
		return false
	}
	switch {
	case e.Follows != "" && (i.runsSince.IsZero() || i.restartsTogether):
		return true
	case e.Time == nil:
		return true
	case e.Follows != "":
		return e.Time.Sub(i.runsSince) <= belongsWithin
	default:
		return e.Time.Sub(i.stored.Time.Time).Abs() <= belongsWithin
	}
}

// isSameStart reports whether code that has failed was running when the first failure came.
func (i incident) isSameStart(e *codeEnd) bool {
	if i.restartsTogether {
		return i.stored.JobAttempt == i.jobAttempt
	}
	return !e.beganAt.After(i.stored.Time.Time) && e.Pod != i.stored.Pod
}

// isRestarted reports whether all replicas have begun anew since the stored failure.
func (i incident) isRestarted(l *ledger.Ledger) bool {
	return i.restartsTogether && i.stored != nil && i.stored.JobAttempt < l.JobAttempt()
}

// belonging returns the ends that belong to the incident. If all replicas restart together, all ends of the attempt do. But a replica may have failed
// for good long before: for such an end the time decides. It was judged when it was recorded, so it cannot become the first failure any more.
func (i incident) belonging(ends []codeEnd) (list []codeEnd) {
	for _, e := range ends {
		if (!i.restartsTogether || e.isFinal) && !i.includes(&e) {
			continue
		}
		if e.isFinal {
			e.Follows = cmp.Or(e.Follows, failedBefore)
		}
		list = append(list, e)
	}
	return list
}

// failedBefore stands in Follows of a failure that was recorded earlier, so that nobody takes it for the first one.
const failedBefore = "it is known already"

// runsAgainSince returns when the replica of a failure began to run again; zero if it has not, or nobody knows.
func runsAgainSince(replicas *roster.Roster, f *v1beta1.FirstFailure) time.Time {
	if f == nil || f.Time == nil {
		return time.Time{}
	}
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod == nil || pod.Name != f.Pod {
			continue
		}
		if at := t.Pod(rank).RunsSince(); !at.Before(f.Time.Time) {
			return at
		}
	}
	return time.Time{}
}

// isRecent reports whether kubelets may still report ends that belong to the incident: it is of this job attempt or of the one before.
func (i incident) isRecent(l *ledger.Ledger) bool {
	return i.stored == nil || i.stored.JobAttempt == i.jobAttempt || i.stored.JobAttempt == l.JobAttempt()-1
}
