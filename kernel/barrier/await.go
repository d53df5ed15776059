package barrier

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
)

const (
	// While replicas wait for each other, their wrappers are asked for reports. The interval is a tenth of the time that they have waited: at least
	// reportInterval, and at most longestReportInterval.
	reportInterval        = 200 * time.Millisecond
	longestReportInterval = 5 * time.Second
	// barrierInterval is how often to look again while they wait for something that no question can speed up. One example is a pod that a quota
	// refuses.
	barrierInterval = time.Minute
)

// RequeueTimes returns when to look at the job again, because replicas wait for each other or wrappers may hold ends. Watch events tell of pods. But
// only a question to its wrapper shows that a replica has arrived at the barrier.
func RequeueTimes(in Inputs, pods []*corev1.Pod, l *ledger.Ledger, replicas *roster.Roster) (waits []time.Duration) {
	if !l.BarrierIsOpen() {
		return append(untilAnswers(in, l, replicas), barrierInterval, l.NextDelay(in.Now))
	}
	if holding := MayHold(in.Job, pods, in.Now); len(holding) > 0 {
		waits = append(waits, HoldInterval(len(holding)))
	}
	return waits
}

// untilAnswers returns when absent replicas may answer, and when their pods are replaced.
func untilAnswers(in Inputs, l *ledger.Ledger, replicas *roster.Roster) (waits []time.Duration) {
	since := in.Now.Sub(l.BarrierTime())
	if left := in.untilKubelet(l); left > 0 {
		waits = append(waits, left)
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if t.Auxiliary {
			continue
		}
		if left := arrivalTimeout + spec.Grace(&t.Template) - since; left >= 0 {
			waits = append(waits, left+reportInterval)
		}
		if in.isAwaited(l, replicas, t) {
			waits = append(waits, min(longestReportInterval, max(reportInterval, since/10)))
		}
	}
	return waits
}

// isAwaited reports whether some replica of a type has not arrived at the barrier (see hasReported). Its pod can be asked now, or once it has its
// order.
func (in Inputs) isAwaited(l *ledger.Ledger, replicas *roster.Roster, t *roster.Type) bool {
	for rank, pod := range t.Pods {
		attempt := l.Attempt(t.Account, rank)
		if pod == nil || podstate.Address(pod) == "" || t.HasFinished(rank) || t.PodAttempt(rank) >= attempt || replicas.IsObsolete(t, rank) || !podstate.CanGoOn(pod) {
			continue
		}
		if !in.hasReported(t, rank, attempt) {
			return true
		}
	}
	return false
}
