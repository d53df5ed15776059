package kernel

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// The history of a job tells what its losses came of. kernel/ledger/history.go keeps it; this file finds what is known of a loss.

// maxTold is how many bytes of a message the history keeps.
const maxTold = 160

// explainLoss writes into the history what is known of the loss of this reconcile. Before is the earlier summary of the first failure, if it has
// changed. Then explainLoss corrects the earlier entry, too.
func explainLoss(draft ledger.Draft, v verdict.Verdict, l loss, stored, first *v1beta1.FirstFailure, before string) {
	if before != "" && stored != nil && first != nil {
		draft.CorrectLoss(entryOfFirst(stored), entryOfFirst(first))
	}
	switch {
	case l.first == nil && v.Reason == v1beta1.ReasonEvicted:
		draft.ExplainLoss(v1beta1.HistoryEntry{Message: text.Cut(v.Message, maxTold)})
	case l.cause == "":
	case first != nil && first != stored && draft.RestartsTogether() && isOfCode(l.cause):
		draft.ExplainLoss(withBegin(l, entryOfFirst(first)))
	case isOfCode(l.cause):
		r := l.first.pod.FailureWithCause()
		draft.ExplainLoss(withBegin(l, entryOfFailure(&r)))
	default:
		e := v1beta1.HistoryEntry{Pod: l.first.pod.Name, Node: l.first.pod.Spec.NodeName, Message: text.Cut(l.first.why, maxTold)}
		draft.ExplainLoss(withBegin(l, e))
	}
}

// isOfCode reports whether a failure of code, or a hang, began a loss.
func isOfCode(by v1beta1.TimeCause) bool {
	return by == v1beta1.TimeLostToRestart || by == v1beta1.TimeLostToHang
}

// withBegin returns the entry with the time at which the loss began.
func withBegin(l loss, e v1beta1.HistoryEntry) v1beta1.HistoryEntry {
	e.Begin = metav1.NewTime(l.beganAt)
	return e
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
