package kernel

import (
	"time"

	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
)

const (
	// reportInterval is how often to ask for reports at least while replicas wait for each other. The longer they wait, the more seldom
	// they are asked: after a tenth of that time, but after longestReportInterval at most.
	reportInterval        = 200 * time.Millisecond
	longestReportInterval = 5 * time.Second
	// barrierInterval is how often to look while they wait for what no question hastens: a pod that a quota refuses, say.
	barrierInterval = time.Minute
)

// await looks again while replicas wait for each other, or may hold ends. Watch events tell of pods; only a question tells that a
// replica has arrived at the barrier.
func (a *acting) await() {
	switch {
	case !a.runs:
	case !a.ledger.Gathered():
		a.wakeAfter(barrierInterval)
		a.wakeAfter(a.ledger.NextDelay(a.Now))
		a.awaitAbsent()
	default:
		if holding := MayHold(a.Job, a.Pods, a.Now); len(holding) > 0 {
			a.wakeAfter(HoldInterval(len(holding)))
		}
	}
}

// awaitAbsent looks again when replicas that are not at the barrier may answer, and when they are given up.
func (a *acting) awaitAbsent() {
	since := a.Now.Sub(a.ledger.BarrierTime())
	for i := range a.crew.Types {
		t := &a.crew.Types[i]
		if t.Auxiliary {
			continue
		}
		if left := patience + spec.Grace(&t.Template) - since; left >= 0 {
			a.wakeAfter(left + reportInterval)
		}
		if a.isAwaited(t) {
			a.wakeAfter(min(longestReportInterval, max(reportInterval, since/10)))
		}
	}
}

// isAwaited says whether a replica of a type has not arrived at the barrier whose pod can be asked, or will be when it has been told.
func (a *acting) isAwaited(t *roster.Type) bool {
	for rank, pod := range t.Pods {
		if pod == nil || ending.Address(pod) == "" || t.Finished(rank) || t.Made(rank) >= a.ledger.Attempt(t.Account, rank) || a.crew.IsObsolete(t, rank) || !ending.CanGoOn(pod) {
			continue
		}
		if report := a.Reports[pod.UID]; report.Pod != string(pod.UID) || report.Attempt != a.ledger.Attempt(t.Account, rank) {
			return true
		}
	}
	return false
}
