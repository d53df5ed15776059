package ledger

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// historyOf reads the history from a status. Somebody may have written it: what the apiserver would not take back is left out, and the rest is put in
// order. To read again what comes of that changes nothing.
func historyOf(s *v1beta1.GenericJobStatus) *v1beta1.History {
	if s.History == nil {
		return nil
	}
	h := chronicle{s.History.DeepCopy()}
	h.Entries = slices.DeleteFunc(h.Entries, func(e v1beta1.HistoryEntry) bool { return !isKnown(e.Kind) || e.Begin.IsZero() })
	goesOn := map[v1beta1.HistoryKind]bool{}
	for i := range slices.Backward(h.Entries) {
		e := &h.Entries[i]
		e.Seconds, e.DeviceSeconds, e.Restarts = max(0, e.Seconds), max(0, e.DeviceSeconds), max(0, e.Restarts)
		once := e.Kind == v1beta1.HistoryScale || goesOn[e.Kind]
		if e.End == nil && once || e.End != nil && e.End.Before(&e.Begin) {
			e.End = new(e.Begin)
		}
		goesOn[e.Kind] = goesOn[e.Kind] || e.End == nil
	}
	h.readEarlier()
	return h.unless(s.History)
}

// readEarlier puts the sums in order.
func (h chronicle) readEarlier() {
	var known []v1beta1.HistorySum
	for _, s := range h.Earlier {
		again := slices.ContainsFunc(known, func(k v1beta1.HistorySum) bool { return k.Kind == s.Kind })
		if again || !isKnown(s.Kind) {
			continue
		}
		s.Count, s.Restarts = max(0, s.Count), max(0, s.Restarts)
		s.Seconds, s.DeviceSeconds = max(0, s.Seconds), max(0, s.DeviceSeconds)
		known = append(known, s)
	}
	h.Earlier = known
}

// unless is a stored history if this one says the same, once it is bounded.
func (h chronicle) unless(stored *v1beta1.History) *v1beta1.History {
	if out := h.bounded(); !equality.Semantic.DeepEqual(out, stored) {
		return out
	}
	return stored
}

func isKnown(kind v1beta1.HistoryKind) bool { return slices.Contains(v1beta1.HistoryKinds, kind) }
