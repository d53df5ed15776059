package kernel

import (
	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// earlyDisruption returns the restart of a replica whose pod is being deleted and has not ended, and whether there is one. With stopTogether it counts as a disruption at
// once, so that all are told. The pod has been marked first, under its resourceVersion, so it had not finished then. If its code now exits
// with 0, it has only done as it was told.
func earlyDisruption(l *ledger.Ledger, t *roster.Type, r restart) (_ restart, restarts bool) {
	if !l.StopsTogether() || t.Auxiliary || t.Policy.Kind == v1beta1.RestartNever || !ending.Marked(r.pod.Pod, v1beta1.AnnotationDisrupted) {
		return r, false
	}
	m := ending.NumbersOf(r.pod.Pod)
	if m.Behind(l.Attempt(r.account, r.rank), l.BarrierIsOpen()) || l.IsObsolete(r.account, r.rank, m.Attempt, m.JobAttempt) {
		return r, false // all have been told already
	}
	r.countsAs, r.allowed = ledger.Disruption, true
	r.why = status.StopsTogether(r.pod.Name)
	return r, true
}
