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
func (p *writer) reportFirst() {
	p.status.FirstFailure = p.First
	if p.First == nil || p.First.Why == "" {
		return
	}
	p.Failures, p.Restarts = slices.Clone(p.Failures), slices.Clone(p.Restarts)
	for i := range p.Failures {
		p.Failures[i].Why = p.withSummary(p.Failures[i].Why)
	}
	for i := range p.Restarts {
		p.Restarts[i].Why = p.withSummary(p.Restarts[i].Why)
	}
	p.reportRoot()
}

// withSummary returns why something failed, or the summary of the first failure if it is that one.
func (p *writer) withSummary(why string) string {
	if why == p.First.Why {
		return p.First.Summary
	}
	return why
}

// reportRoot has the restart of all replicas tell the first failure, if the recorded failure follows from that one. The first failure is then not
// recorded itself: its container has ended, but its pod has not.
func (p *writer) reportRoot() {
	if len(p.Restarts) != 1 || !p.Ledger.RestartsTogether() || p.First.Follows != "" {
		return
	}
	e := &p.Restarts[0]
	i := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Pod == e.Pod && f.Follows != "" })
	if i < 0 {
		return
	}
	p.Failures[i].Why, p.Failures[i].ReplicaFailure = p.First.Summary, p.First.ReplicaFailure
	e.Why = p.First.Summary
}

// followsStored reports whether all failures of this reconcile follow from one that was told before.
func (p *writer) followsStored() bool {
	hasOwnCause := func(f Failure) bool { return f.Follows == "" || f.Pod == p.First.Pod }
	return p.First != nil && p.First.Follows == "" && !slices.ContainsFunc(p.Failures, hasOwnCause)
}

// correctFirst corrects what was told before of the first failure, now that more is known.
func (p *writer) correctFirst() {
	if p.OldSummary == "" || p.First == nil {
		return
	}
	for i := range p.status.Conditions {
		if c := &p.status.Conditions[i]; !strings.Contains(c.Message, p.First.Summary) { // the old summary may be the beginning of the new one
			c.Message = strings.Replace(c.Message, p.OldSummary, p.First.Summary, 1)
		}
	}
	before := p.Job.Status.FirstFailure
	for i := range p.status.Failures {
		if f := &p.status.Failures[i]; f.Pod == before.Pod && f.Time.Equal(before.Time) {
			*f = p.First.ReplicaFailure
		}
	}
}

// firstEvents tell that another failure came first than the one that was told before.
func (p *writer) firstEvents() []Event {
	before := p.Job.Status.FirstFailure
	if p.OldSummary == "" || p.First == nil || before == nil || before.Pod == p.First.Pod {
		return nil
	}
	return []Event{NewEvent(true, v1beta1.ReasonErrorInPod,
		fmt.Sprintf("%s. It was heard of late: what was told before as the first failure was that of Pod[%s].", p.First.Summary, before.Pod))}
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
