package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// symbol is something that happened to a replica at a time. Its letter says what, so that no colour is needed.
type symbol struct {
	pod    string
	at     time.Time
	letter letter
	text   string
	// reported says that the status names it, so that its replica has a row of its own.
	reported bool
}

type letter string

// The letters of symbols.
const (
	letterFirst      letter = "1"
	letterFailure    letter = "F"
	letterHang       letter = "H"
	letterDisruption letter = "D"
	letterNode       letter = "N"
)

// letters are what symbols mean, in the order in which the first of several at one place is drawn on top.
var letters = []struct {
	letter letter
	words  string
}{
	{letterFirst, "failed first"},
	{letterNode, "its node was lost"},
	{letterHang, "hung"},
	{letterDisruption, "was disrupted: deleted, evicted or preempted"},
	{letterFailure, "failed, too"},
}

// ofKind are the letters of entries.
var ofKind = map[v1beta1.HistoryKind]letter{v1beta1.HistoryFailure: letterFirst, v1beta1.HistoryHang: letterHang, v1beta1.HistoryDisruption: letterDisruption, v1beta1.HistoryNodeLost: letterNode}

// symbols returns what is known to have happened to replicas, by the names of these. What the history, the failures and the pods tell of one end is
// told once.
func (in *Input) symbols() map[string][]symbol {
	f, out := in.Family, map[string][]symbol{}
	for _, m := range append(in.reportedSymbols(), ofPods(f)...) {
		if m.at.IsZero() || m.pod == "" {
			continue
		}
		name := logs.Failure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: m.pod}}.Replica(f)
		if !slices.ContainsFunc(out[name], func(have symbol) bool { return have.at.Unix() == m.at.Unix() }) {
			out[name] = append(out[name], m)
		}
	}
	return out
}

// reportedSymbols returns the symbols of what the status reports.
func (in *Input) reportedSymbols() (out []symbol) {
	s := in.Family.Status()
	if first := s.FirstFailure; first != nil && first.Time != nil {
		out = append(out, symbol{first.Pod, first.Time.Time, letterFirst, "failed first: " + tree.Describe(first.ReplicaFailure), true})
	}
	if in.History != nil {
		for _, e := range in.History.Entries {
			if letter, ok := ofKind[e.Kind]; ok {
				out = append(out, symbol{e.Pod, e.Begin.Time, letter, wordsOf(&e), true})
			}
		}
	}
	for _, r := range s.Failures {
		if r.Time != nil {
			out = append(out, symbol{r.Pod, r.Time.Time, letterFailure, tree.Describe(r), true})
		}
	}
	return out
}

// ofPods returns the symbols of pods that have failed and are still there.
func ofPods(f *jobs.Family) (out []symbol) {
	for _, pod := range f.Pods {
		if pod.Status.Phase == corev1.PodFailed {
			p := podstate.Pod{Pod: pod, Template: &corev1.PodTemplateSpec{Spec: pod.Spec}}
			out = append(out, symbol{pod.Name, p.EndedAt(), letterFailure, tree.Describe(p.AtOwnEnd().Failure()), false})
		}
	}
	return out
}

// wordsOf say what an entry was, in one line.
func wordsOf(e *v1beta1.HistoryEntry) string {
	text := ""
	if e.Cause != "" && e.Cause != v1beta1.CauseUnknown {
		text = string(e.Cause)
	}
	if e.ExitCode != nil {
		text = join(text, "exit code "+podstate.Code(*e.ExitCode))
	}
	if e.From != nil && e.To != nil {
		text = join(text, fmt.Sprintf("from %d to %d replicas", *e.From, *e.To))
	}
	return cmp.Or(join(text, e.Message), string(e.Kind))
}

func join(a, b string) string { return joinBy(a, ", ", b) }
