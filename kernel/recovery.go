package kernel

import (
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// How long a job takes to recover: kernel/ledger/recovery.go keeps when it was ended, told of, replaced. The next step is known with the first progress
// since.

// stepped notes when the code told its first step since all run again, if news of the progress tell it.
func stepped(w World, draft ledger.Draft, replicas *roster.Roster, news *v1beta1.Progress) {
	if news == nil || news.Step == nil || draft.Recovery() == nil || !isOfPresent(draft.Ledger, replicas, w.ProgressReport) {
		return
	}
	draft.Stepped(w.Now.Add(-sinceFirst(w.ProgressReport.Pace, *news.Step)))
}

// sinceFirst is how long ago code told its first step that has come to another: by its pace, as far as it is known.
func sinceFirst(p *inplace.Pace, step int64) time.Duration {
	if p == nil || p.First < 0 || step <= p.First || !(p.Seconds > 0 && p.Seconds <= longestPace.Seconds()) {
		return 0
	}
	seconds := p.Seconds * float64(step-p.First)
	return time.Duration(min(seconds, longestPace.Seconds()) * float64(time.Second))
}
