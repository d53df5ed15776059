package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
)

// tellFirst has what is told in this reconcile say how sure it is which failure came first, and how many followed.
func (p *page) tellFirst() {
	p.status.FirstFailure = p.First
	if p.First == nil || p.First.Why == "" {
		return
	}
	p.Failures, p.Restarts = slices.Clone(p.Failures), slices.Clone(p.Restarts)
	for i := range p.Failures {
		p.Failures[i].Text = p.withSummary(p.Failures[i].Text)
	}
	for i := range p.Restarts {
		p.Restarts[i].Message = p.withSummary(p.Restarts[i].Message)
	}
	p.tellRoot()
	if p.Verdict.Ends() {
		p.Verdict.Message = p.withRoot(p.withSummary(p.Verdict.Message))
	}
}

// tellRoot has the restart of all replicas be about the first failure, where what is recorded follows from that: the container of the first has
// ended, and its kubelet has not yet said so of the pod.
func (p *page) tellRoot() {
	if len(p.Restarts) != 1 || !p.Ledger.WholeJob() || p.First.Follows != "" {
		return
	}
	e := &p.Restarts[0]
	i := slices.IndexFunc(p.Failures, func(f Failure) bool { return f.Pod == e.Pod && f.Follows != "" })
	if i < 0 {
		return
	}
	f := &p.Failures[i]
	f.Text, f.ReplicaFailure = p.First.Summary+lastClause(f.Text), p.First.ReplicaFailure
	e.Message = p.First.Summary + lastClause(e.Message)
}

// lastClause is the end of a message about a failure: what follows from it; "" if it does not say.
func lastClause(text string) string {
	if i := strings.LastIndex(text, "; "); i >= 0 {
		return text[i:]
	}
	return ""
}

// failure says what has failed in this reconcile. Where all failures that end the job are consequences of an earlier one, it is about that one.
func (p *page) failure() string {
	hasOwnCause := func(f Failure) bool { return f.Follows == "" || f.Pod == p.First.Pod }
	if !p.Verdict.Ends() || p.First == nil || p.First.Follows != "" || slices.ContainsFunc(p.Failures, hasOwnCause) {
		return summary(p.Failures)
	}
	return p.First.Summary + lastClause(p.Failures[0].Text)
}

// withRoot returns the message of a job's end, about the failure that the others followed from.
func (p *page) withRoot(message string) string {
	if len(p.Failures) == 0 {
		return message
	}
	if rest, is := strings.CutPrefix(message, summary(p.Failures)); is {
		return p.failure() + rest
	}
	return message
}

// andMore is how a message counts failures of which one is told; see summary.
var andMore = regexp.MustCompile(` \(and \d+ more\)`)

// withSummary is a message that begins with why the first failure came, with the summary of that.
func (p *page) withSummary(message string) string {
	rest, is := strings.CutPrefix(message, p.First.Why)
	if !is || !strings.HasPrefix(rest, ";") && rest != "" {
		return message
	}
	return p.First.Summary + andMore.ReplaceAllString(rest, "")
}

// correctFirst corrects what was told before of the first failure, now that more is known.
func (p *page) correctFirst() {
	if p.FirstBefore == "" || p.First == nil {
		return
	}
	for i := range p.status.Conditions {
		if c := &p.status.Conditions[i]; !strings.Contains(c.Message, p.First.Summary) { // the old summary may be the beginning of the new one
			c.Message = strings.Replace(c.Message, p.FirstBefore, p.First.Summary, 1)
		}
	}
	before := p.Job.Status.FirstFailure
	for i := range p.status.Failures {
		if f := &p.status.Failures[i]; f.Pod == before.Pod && f.Time.Equal(before.Time) {
			*f = p.First.ReplicaFailure
		}
	}
}

// firstEvents tell that another failure came first than was told before.
func (p *page) firstEvents() []Event {
	before := p.Job.Status.FirstFailure
	if p.FirstBefore == "" || p.First == nil || before == nil || before.Pod == p.First.Pod {
		return nil
	}
	return []Event{NewEvent(true, v1beta1.ReasonErrorInPod,
		fmt.Sprintf("%s. It was heard of late: what was told before as the first failure was that of Pod[%s].", p.First.Summary, before.Pod))}
}

// FirstSummary says which failure came first, how sure that is, and how many followed.
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
		return out + "; 1 other followed"
	default:
		return out + fmt.Sprintf("; %d others followed", f.Others)
	}
}

// whyNotKnown says why another may have failed first as well.
func whyNotKnown(f *v1beta1.FirstFailure) string {
	if ending.Hung(&f.ReplicaFailure) {
		return "which of them the others wait for is not known"
	}
	return "they ended within the same second"
}
