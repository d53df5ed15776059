package kernel

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/text"
)

// The history of a job tells what its losses came of. kernel/ledger/history.go keeps it; this file finds what is known of a loss.

// maxTold is how many bytes of a message the history keeps.
const maxTold = 160

// explainLoss writes into the history what is known of the loss of this reconcile. If another failure is the first now than the status tells, it
// corrects the earlier entry, too.
func (p *planning) explainLoss() {
	stored := p.Job.Status.FirstFailure
	if p.summaryBefore != "" && stored != nil && p.firstFailure != nil {
		p.draft.CorrectLoss(entryOfFirst(stored), entryOfFirst(p.firstFailure))
	}
	switch {
	case p.loss.cause != "":
		why := p.whyLost()
		why.Begin = metav1.NewTime(p.loss.beganAt)
		p.draft.ExplainLoss(why)
	case p.loss.explainedBy == nil && p.verdict.Reason == v1beta1.ReasonEvicted:
		p.draft.ExplainLoss(v1beta1.HistoryEntry{Message: text.Cut(p.verdict.Message, maxTold)})
	}
}

// whyLost returns an entry about why code ended, if time is lost.
func (p *planning) whyLost() v1beta1.HistoryEntry {
	e := p.loss.explainedBy
	switch isNew := p.firstFailure != nil && p.firstFailure != p.Job.Status.FirstFailure; {
	case !isOfCode(p.loss.cause):
		return v1beta1.HistoryEntry{Pod: e.pod.Name, Node: e.pod.Spec.NodeName, Message: text.Cut(e.why, maxTold)}
	case isNew && p.draft.RestartsTogether():
		return entryOfFirst(p.firstFailure)
	default:
		r := e.pod.FailureWithCause()
		return entryOfFailure(&r)
	}
}

// isOfCode reports whether a failure of code, or a hang, began a loss.
func isOfCode(by v1beta1.TimeCause) bool {
	return by == v1beta1.TimeLostToRestart || by == v1beta1.TimeLostToHang
}

// entryOfFirst returns an entry about the failure that others followed from.
func entryOfFirst(f *v1beta1.FirstFailure) v1beta1.HistoryEntry {
	e := entryOfFailure(&f.ReplicaFailure)
	e.Probable = f.Probable
	return e
}

// entryOfFailure returns an entry about a failure.
func entryOfFailure(f *v1beta1.ReplicaFailure) v1beta1.HistoryEntry {
	e := v1beta1.HistoryEntry{Pod: f.Pod, Node: f.Node, ExitCode: f.ExitCode, Probable: f.Follows != ""}
	if f.Cause != nil {
		e.Cause = f.Cause.Kind
	}
	lines := strings.Split(strings.TrimSpace(f.Message), "\n")
	said := cmp.Or(f.Exception, lines[len(lines)-1])
	if podstate.IsJustOutput(f) && said != "" {
		said = fmt.Sprintf("last output: %q", said)
	}
	if f.Reason != "" && f.Reason != "Error" {
		said = strings.TrimSuffix(f.Reason+": "+said, ": ")
	}
	e.Message = text.Cut(said, maxTold)
	return e
}
