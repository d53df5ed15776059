package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// lossNames are what each kind of loss is called: one of them, and several.
var lossNames = map[v1beta1.HistoryKind][2]string{
	v1beta1.HistoryFailure:    {"failure", "failures"},
	v1beta1.HistoryHang:       {"hang", "hangs"},
	v1beta1.HistoryDisruption: {"disruption", "disruptions"},
	v1beta1.HistoryNodeLost:   {"lost node", "lost nodes"},
}

// Losses says what the job has lost time by, in one line each, the oldest first. What came of the same is one line. It is empty if nothing was lost.
func (f *Family) Losses(now time.Time) (lines []string) {
	h := f.Status().History
	if h == nil {
		return nil
	}
	var groups []v1beta1.HistorySum
	var first []v1beta1.HistoryEntry
	for i := range h.Entries {
		e := &h.Entries[i]
		if lossNames[e.Kind][0] == "" {
			continue
		}
		at := slices.IndexFunc(first, func(o v1beta1.HistoryEntry) bool { return isSame(&o, e) })
		if at < 0 {
			at = len(first)
			first, groups = append(first, *e), append(groups, v1beta1.HistorySum{Kind: e.Kind})
		}
		first[at].Probable = first[at].Probable && e.Probable // what is certain of one explains the others
		groups[at].Count++
		groups[at].Seconds += e.Seconds + f.goesOn(e, now)
	}
	for _, s := range h.Earlier {
		if lossNames[s.Kind][0] != "" {
			lines = append(lines, lost(s)+" before that")
		}
	}
	for i := range first {
		lines = append(lines, lost(groups[i])+whence(&first[i]))
	}
	return lines
}

// goesOn returns how long the interval has gone on that a loss is in, in seconds.
func (f *Family) goesOn(e *v1beta1.HistoryEntry, now time.Time) int64 {
	t := f.Status().Time
	if e.End != nil || t == nil || t.Open == nil || t.Open.Cause != e.Kind.TimeCause() {
		return 0
	}
	return max(0, int64(now.Sub(t.Open.Since.Time)/time.Second))
}

// isSame reports whether two losses came of the same, as far as is known: of one it may be certain, and of another probable.
func isSame(a, b *v1beta1.HistoryEntry) bool {
	return ptr.Equal(a.ExitCode, b.ExitCode) && a.Kind == b.Kind && a.Pod == b.Pod && a.Node == b.Node && a.Cause == b.Cause && a.Message == b.Message
}

// lost returns how often something came, and what that cost.
func lost(s v1beta1.HistorySum) string {
	switch s.Count {
	case 0:
		return fmt.Sprintf("%s, %s lost", lossNames[s.Kind][1], Spell(s.Seconds))
	case 1:
		return fmt.Sprintf("1 %s, %s lost", lossNames[s.Kind][0], Spell(s.Seconds))
	default:
		return fmt.Sprintf("%d %s, %s lost", s.Count, lossNames[s.Kind][1], Spell(s.Seconds))
	}
}

// whence returns when a loss began, of which pod it came, and why.
func whence(e *v1beta1.HistoryEntry) string {
	var words []string
	if e.ExitCode != nil {
		words = append(words, "exit code "+podstate.Code(*e.ExitCode))
	}
	if e.Cause != "" && e.Cause != v1beta1.CauseUnknown {
		words = append(words, string(e.Cause))
	}
	if e.Message != "" {
		words = append(words, e.Message)
	}
	text := ", since " + e.Begin.UTC().Format("2006-01-02 15:04:05")
	switch {
	case e.Pod != "" && e.Probable:
		text += ", probably Pod[" + e.Pod + "]"
	case e.Pod != "":
		text += ", Pod[" + e.Pod + "]"
	}
	if e.Node != "" {
		text += " on node " + e.Node
	}
	if len(words) > 0 {
		text += ": " + strings.Join(words, ", ")
	}
	return text
}
