package kernel

import (
	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/status"
)

// earlyDisruption returns the end of a replica whose pod is being deleted but has not ended yet, and whether that counts already. With stopTogether it
// counts as a disruption at once, so that all replicas are told to stop. The pod carries a mark, which was put on it under its resourceVersion: so it
// had not finished before. If its code exits with 0 now, it has only done as it was told.
func earlyDisruption(l *ledger.Ledger, e end) (_ end, counts bool) {
	if !l.StopsTogether() || e.account.Auxiliary || e.account.Policy.Kind == v1beta1.RestartNever || !podstate.HasMark(e.pod.Pod, v1beta1.AnnotationDisrupted) {
		return e, false
	}
	numbers := podstate.NumbersOf(e.pod.Pod)
	if numbers.IsBehind(l.Attempt(e.account, e.rank), l.BarrierIsOpen()) || l.IsObsolete(e.account, e.rank, numbers.Attempt, numbers.JobAttempt) {
		return e, false // all have been told already
	}
	return e.asDisruption(status.StopsTogether(e.pod.Name)), true
}
