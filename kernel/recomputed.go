package kernel

import (
	"math"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// Recomputed work. Code that goes on from a checkpoint does some steps again. How many is known when it tells its first progress after the restart.
// Their time is written with that progress.

// longestPace is the longest time of a step that is believed: a pod may report anything.
const longestPace = 7 * 24 * time.Hour

// addRecomputedTime adds the time of steps that were done again, if new progress shows it.
func addRecomputedTime(w World, draft ledger.Draft, replicas *roster.Roster, news *v1beta1.Progress) {
	t := draft.Time()
	if news == nil || news.Step == nil || t == nil || t.StepBefore == nil || !draft.Trains() || !isOfPresentCode(draft.Ledger, replicas, w.ProgressReport) {
		return
	}
	if *news.Step > *t.StepBefore && w.ProgressReport.Pace == nil {
		draft.Recompute(0, false, w.Now) // the code is past the old step, and does not say from which step it went on
		return
	}
	if steps, spent, exact := doneAgain(w.ProgressReport.Pace, *t.StepBefore); steps == 0 || spent > 0 {
		draft.Recompute(spent, exact, w.Now)
	}
}

// doneAgain returns how many steps were done again, the time that they took, and whether that is exact. The time is 0 if it is not known yet.
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

// isOfPresentCode reports whether a report is of code that runs now. The caller may still have a report from before a restart in place.
func isOfPresentCode(l *ledger.Ledger, replicas *roster.Roster, report inplace.Report) bool {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank, pod := range t.Pods {
			if pod != nil && string(pod.UID) == report.Pod {
				return !l.RestartsInPlace() || report.Attempt == l.Attempt(t.Account, rank)
			}
		}
	}
	return false
}
