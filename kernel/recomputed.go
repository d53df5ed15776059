package kernel

import (
	"math"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// Recomputed work. Code that goes on from a checkpoint does steps again that had been done. How many is known when it tells of its progress for the
// first time since. That is written then, beside the progress.

// longestPace is how long a step may take: what the code of a pod says may be anything.
const longestPace = 7 * 24 * time.Hour

// recompute adds the time of steps that were done again, if news of the progress tell it.
func recompute(w World, draft ledger.Draft, replicas *roster.Roster, news *v1beta1.Progress) {
	t := draft.Time()
	if news == nil || news.Step == nil || t == nil || t.StepBefore == nil || !draft.Trains() || !isOfPresent(draft.Ledger, replicas, w.ProgressReport) {
		return
	}
	if *news.Step > *t.StepBefore && w.ProgressReport.Pace == nil {
		draft.Recompute(0, false, w.Now) // it has come past it, and does not say from where
		return
	}
	if steps, spent, exact := doneAgain(w.ProgressReport.Pace, *t.StepBefore); steps == 0 || spent > 0 {
		draft.Recompute(spent, exact, w.Now)
	}
}

// doneAgain is how many steps were done again, in which time, and whether it was not more. The time is 0 if it is not known yet.
func doneAgain(p *inplace.Pace, before int64) (steps int64, spent time.Duration, exact bool) {
	if p == nil || p.First < 0 {
		return math.MaxInt64, 0, false
	}
	exact = p.Each && p.Before != nil && *p.Before >= before
	if exact {
		before = *p.Before
	}
	if steps = max(0, before-p.First+1); steps == 0 {
		return 0, 0, exact
	}
	seconds := p.Seconds * float64(steps)
	if !(p.Seconds > 0 && p.Seconds <= longestPace.Seconds() && seconds <= float64(math.MaxInt64/int64(time.Second)/2)) {
		return steps, 0, exact
	}
	return steps, time.Duration(seconds * float64(time.Second)), exact
}

// isOfPresent reports whether a report is of code that runs now. One that came before a restart in place may be known still.
func isOfPresent(l *ledger.Ledger, replicas *roster.Roster, report inplace.Report) bool {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank, pod := range t.Pods {
			if pod != nil && string(pod.UID) == report.Pod {
				return !l.InPlace() || report.Attempt == l.Attempt(t.Account, rank)
			}
		}
	}
	return false
}
