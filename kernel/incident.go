package kernel

import (
	"cmp"
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// incident is failures that belong together: one came first, the others came of code that ran at that time.
type incident struct {
	stored     *v1beta1.FirstFailure
	jobAttempt int32     // the one in which the code failed
	whole      bool      // a restart is all replicas'
	runsSince  time.Time // when the replica began to run again that failed first; zero if it has not
	alone      int32     // how many more have failed, where each restarts alone: the pods of those that are counted already may be gone
}

// incidentOf returns that of the stored first failure, or a new one, if a failure that was recorded does not belong to it.
func incidentOf(w World, l *ledger.Ledger, replicas *roster.Roster, recorded []codeEnd) incident {
	i := incident{stored: w.Job.Status.FirstFailure, jobAttempt: w.Job.Status.JobAttempt, whole: l.WholeJob()}
	if len(recorded) > 0 { // else nobody asks
		i.runsSince = runsAgainSince(replicas, i.stored)
	}
	if slices.ContainsFunc(recorded, func(e codeEnd) bool { return !i.includes(&e) }) {
		i.stored = nil
	}
	for _, e := range recorded {
		// Else it may be a replica that is counted already, and has started anew since, perhaps within the second.
		if !i.whole && i.stored != nil && !e.began.IsZero() && e.began.Before(i.stored.Time.Time) {
			i.alone++
		}
	}
	return i
}

// includes reports whether a failure belongs to the incident. Such a failure is of the same start, and follows from another's end or came within
// belongsWithin. Where replicas restart one by one, what follows belongs until the first to fail has run again for so long.
func (i incident) includes(e *codeEnd) bool {
	if i.stored == nil || i.stored.Time == nil || !i.isSameStart(e) {
		return false
	}
	switch {
	case e.Follows != "" && (i.runsSince.IsZero() || i.whole):
		return true
	case e.Time == nil:
		return true
	case e.Follows != "":
		return e.Time.Sub(i.runsSince) <= belongsWithin
	default:
		return e.Time.Sub(i.stored.Time.Time).Abs() <= belongsWithin
	}
}

// isSameStart reports whether code that has failed was started no later than the first failure came.
func (i incident) isSameStart(e *codeEnd) bool {
	if i.whole {
		return i.stored.JobAttempt == i.jobAttempt
	}
	return !e.began.After(i.stored.Time.Time) && e.Pod != i.stored.Pod
}

// isRestarted reports whether all replicas have begun anew since the failure that is stored.
func (i incident) isRestarted(l *ledger.Ledger) bool {
	return i.whole && i.stored != nil && i.stored.JobAttempt < l.JobAttempt()
}

// belonging returns those of some ends that are of the incident. Where all replicas restart together, all ends of its attempt are. A replica that had
// failed for good may have done so long ago, so for that one the time tells. Its failure was judged when it was recorded, and cannot be the first any
// more.
func (i incident) belonging(ends []codeEnd) (list []codeEnd) {
	for _, e := range ends {
		if (!i.whole || e.final) && !i.includes(&e) {
			continue
		}
		if e.final {
			e.Follows = cmp.Or(e.Follows, failedBefore)
		}
		list = append(list, e)
	}
	return list
}

// failedBefore is what keeps a failure that was recorded earlier from being the first one.
const failedBefore = "it is known already"

// runsAgainSince returns when the replica of a failure began to run again; zero if it has not.
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

// isRecent reports whether kubelets may still report ends that belong to the incident: its replicas run, or are being restarted.
func (i incident) isRecent(l *ledger.Ledger) bool {
	return i.stored == nil || i.stored.JobAttempt == i.jobAttempt || i.stored.JobAttempt == l.JobAttempt()-1
}
