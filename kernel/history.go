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
	l, stored, first := &p.loss, p.Job.Status.FirstFailure, p.first
	if p.summaryBefore != "" && stored != nil && first != nil {
		p.draft.CorrectLoss(entryOfFirst(stored), entryOfFirst(first))
	}
	var why v1beta1.HistoryEntry
	switch {
	case l.explainedBy == nil && p.verdict.Reason == v1beta1.ReasonEvicted:
		why.Message = text.Cut(p.verdict.Message, maxTold)
	case l.cause == "":
		return
	case first != nil && first != stored && p.draft.RestartsTogether() && isOfCode(l.cause):
		why = entryOfFirst(first)
	case isOfCode(l.cause):
		r := l.explainedBy.pod.FailureWithCause()
		why = entryOfFailure(&r)
	default:
		e := l.explainedBy
		why = v1beta1.HistoryEntry{Pod: e.pod.Name, Node: e.pod.Spec.NodeName, Message: text.Cut(e.why, maxTold)}
	}
	if l.cause != "" {
		why.Begin = metav1.NewTime(l.beganAt)
	}
	p.draft.ExplainLoss(why)
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
