package kernel

import (
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// How long a job takes to recover from a loss. kernel/ledger/recovery.go keeps the times of each part, such as when code ended and when pods were
// replaced. This file finds the last part, the first step after the loss. The first progress since then tells it.

// noteFirstStep notes when the code told its first step since enough replicas run again, if new progress shows that.
func noteFirstStep(w World, draft ledger.Draft, replicas *roster.Roster, news *v1beta1.Progress) {
	if news == nil || news.Step == nil || draft.Recovery() == nil || !isOfPresentCode(draft.Ledger, replicas, w.ProgressReport) {
		return
	}
	draft.NoteFirstStep(w.Now.Add(-sinceFirst(w.ProgressReport.Pace, *news.Step)))
}

// sinceFirst returns how long ago code told its first step, if it is at this step now and goes on at its pace. It is 0 if the pace is not known.
func sinceFirst(p *inplace.Pace, step int64) time.Duration {
	if p == nil || p.First < 0 || step <= p.First || !(p.Seconds > 0 && p.Seconds <= longestPace.Seconds()) {
		return 0
	}
	seconds := p.Seconds * float64(step-p.First)
	return time.Duration(min(seconds, longestPace.Seconds()) * float64(time.Second))
}
