package ledger

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// historyOf reads the history from a status. If somebody else has written it, it leaves out what the apiserver would refuse to store again, and sorts
// the rest. Reading the result again changes nothing.
func historyOf(s *v1beta1.GenericJobStatus) *v1beta1.History {
	if s.History == nil || isSoundHistory(s.History) {
		return s.History
	}
	h := historyDraft{s.History.DeepCopy()}
	h.Entries = slices.DeleteFunc(h.Entries, func(e v1beta1.HistoryEntry) bool { return !isKnown(e.Kind) || e.Begin.IsZero() })
	for i := range h.Entries {
		e := &h.Entries[i]
		e.Seconds, e.DeviceSeconds, e.Restarts = max(0, e.Seconds), max(0, e.DeviceSeconds), max(0, e.Restarts)
		if goesOnWrongly(h.Entries, i) || e.End != nil && e.End.Before(&e.Begin) {
			e.End = new(e.Begin)
		}
	}
	var sums []v1beta1.HistorySum
	for i, s := range h.Earlier {
		if isKnown(s.Kind) && !isAgain(h.Earlier, i) {
			s.Count, s.Seconds, s.DeviceSeconds, s.Restarts = max(0, s.Count), max(0, s.Seconds), max(0, s.DeviceSeconds), max(0, s.Restarts)
			sums = append(sums, s)
		}
	}
	h.Earlier = sums
	return h.bounded()
}

// isSoundHistory reports whether this package can have written a history.
func isSoundHistory(h *v1beta1.History) bool {
	for i := range h.Entries {
		e := &h.Entries[i]
		if !isSound(e) || goesOnWrongly(h.Entries, i) || i > 0 && e.Begin.Before(&h.Entries[i-1].Begin) {
			return false
		}
	}
	for i, s := range h.Earlier {
		if !isKnown(s.Kind) || isAgain(h.Earlier, i) || min(s.Count, s.Seconds, s.DeviceSeconds, s.Restarts) < 0 {
			return false
		}
	}
	return len(h.Entries) <= maxEntries
}

// isSound reports whether an entry is possible in itself.
func isSound(e *v1beta1.HistoryEntry) bool {
	return isKnown(e.Kind) && !e.Begin.IsZero() && min(e.Seconds, e.DeviceSeconds, e.Restarts) >= 0 && (e.End == nil || !e.End.Before(&e.Begin))
}

// goesOnWrongly reports whether an entry is open that must have ended. A change of size takes no time, and only one entry of each kind is open.
func goesOnWrongly(entries []v1beta1.HistoryEntry, i int) bool {
	e := &entries[i]
	return e.End == nil && (e.Kind == v1beta1.HistoryScale ||
		slices.ContainsFunc(entries[i+1:], func(l v1beta1.HistoryEntry) bool { return l.Kind == e.Kind && l.End == nil }))
}

// isAgain reports whether an earlier sum has the same kind.
func isAgain(sums []v1beta1.HistorySum, i int) bool {
	return slices.ContainsFunc(sums[:i], func(s v1beta1.HistorySum) bool { return s.Kind == sums[i].Kind })
}

func isKnown(kind v1beta1.HistoryKind) bool { return slices.Contains(v1beta1.HistoryKinds, kind) }
