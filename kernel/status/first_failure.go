package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// reportFirst replaces the sentence about the first failure, wherever this reconcile tells it, by its summary. The summary also says how sure it is
// that this was the first, and how many others failed.
func (w *writer) reportFirst() {
	w.status.FirstFailure = w.First
	if w.First == nil || w.First.Why == "" {
		return
	}
	w.Failures, w.Restarts = slices.Clone(w.Failures), slices.Clone(w.Restarts)
	for i := range w.Failures {
		w.Failures[i].Why = w.withSummary(w.Failures[i].Why)
	}
	for i := range w.Restarts {
		w.Restarts[i].Why = w.withSummary(w.Restarts[i].Why)
	}
	w.reportFirstOfRestart()
}

// withSummary returns why something failed, or the summary of the first failure if it is that one.
func (w *writer) withSummary(why string) string {
	if why == w.First.Why {
		return w.First.Summary
	}
	return why
}

// reportFirstOfRestart has the restart of all replicas tell the first failure, if the recorded failure follows from that one. The first failure is
// then not recorded itself: its container has ended, but its pod has not.
func (w *writer) reportFirstOfRestart() {
	if len(w.Restarts) != 1 || !w.Ledger.RestartsTogether() || w.First.Follows != "" {
		return
	}
	e := &w.Restarts[0]
	i := slices.IndexFunc(w.Failures, func(f Failure) bool { return f.Pod == e.Pod && f.Follows != "" })
	if i < 0 {
		return
	}
	w.Failures[i].Why, w.Failures[i].ReplicaFailure = w.First.Summary, w.First.ReplicaFailure
	e.Why = w.First.Summary
}

// followsStored reports whether all failures of this reconcile follow from one that was told before.
func (w *writer) followsStored() bool {
	hasOwnCause := func(f Failure) bool { return f.Follows == "" || f.Pod == w.First.Pod }
	return w.First != nil && w.First.Follows == "" && !slices.ContainsFunc(w.Failures, hasOwnCause)
}

// correctFirst corrects what was told before of the first failure, now that more is known.
func (w *writer) correctFirst() {
	if w.SummaryBefore == "" || w.First == nil {
		return
	}
	for i := range w.status.Conditions {
		if c := &w.status.Conditions[i]; !strings.Contains(c.Message, w.First.Summary) { // the old summary may be the beginning of the new one
			c.Message = strings.Replace(c.Message, w.SummaryBefore, w.First.Summary, 1)
		}
	}
	if !w.Ledger.RestartsTogether() && !w.Verdict.IsOver() { // each of them was counted for itself: see kernel/hang.go
		return
	}
	before := w.Job.Status.FirstFailure
	for i := range w.status.Failures {
		if f := &w.status.Failures[i]; f.Pod == before.Pod && f.Time.Equal(before.Time) {
			*f = w.First.ReplicaFailure
		}
	}
}

// firstEvents tell that another failure came first than the one that was told before.
func (w *writer) firstEvents() []Event {
	before := w.Job.Status.FirstFailure
	if w.SummaryBefore == "" || w.First == nil || before == nil || before.Pod == w.First.Pod {
		return nil
	}
	return []Event{NewEvent(true, v1beta1.ReasonErrorInPod,
		fmt.Sprintf("%s. It was heard of late: what was told before as the first failure was that of Pod[%s].", w.First.Summary, before.Pod))}
}

// FirstSummary says which failure came first, how sure that is, and how many others failed.
func FirstSummary(f *v1beta1.FirstFailure) string {
	out := f.Why
	switch {
	case f.Follows != "":
		out += fmt.Sprintf(" (probably because %s: whose failure came first is not known)", f.Follows)
	case len(f.OrElse) > 0:
		out += fmt.Sprintf(" (or first was Pod[%s]: %s)", strings.Join(f.OrElse, "] or Pod["), whyNotKnown(f))
	}
	switch f.Others {
	case 0:
		return out
	case 1:
		return out + "; 1 other failed, too"
	default:
		return out + fmt.Sprintf("; %d others failed, too", f.Others)
	}
}

// whyNotKnown says why another may have failed first as well.
func whyNotKnown(f *v1beta1.FirstFailure) string {
	if podstate.IsHang(&f.ReplicaFailure) {
		return "which of them the others wait for is not known"
	}
	return "they ended within the same second"
}
