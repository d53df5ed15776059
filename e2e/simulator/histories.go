package simulator

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// This file checks what statuses say of what came between the work of a job. The entries follow the time, so their seconds are its shares, whoever
// writes.

// mostOfHistory is how many entries are listed.
const mostOfHistory = 20

// historyWritten checks a status against the one before.
func (t *truth) historyWritten(was, is *v1beta1.GenericJob) {
	h := is.Status.History
	if is.Status.Phase == "" {
		return // the operator has only warned about a job that was deleted before it began
	}
	if h == nil || is.Status.Time == nil {
		t.violated("a loss is not in the history", "%s has no history of its time", keyOf(is))
		return
	}
	if len(h.Entries) > mostOfHistory {
		t.violated("a history grows", "%d entries", len(h.Entries))
	}
	t.historyAddsUp(&is.Status)
	t.historyGoesOn(&is.Status)
	t.historyIsSorted(h)
	t.historyStays(was, is)
}

// historyAddsUp checks that each second of a loss is in one entry, or in the sum of those that are no longer listed.
func (t *truth) historyAddsUp(s *v1beta1.GenericJobStatus) {
	for _, kind := range v1beta1.HistoryKinds {
		sum, share := int64(0), int64(0)
		for i := range s.History.Entries {
			if e := &s.History.Entries[i]; e.Kind == kind {
				sum += e.Seconds
			}
		}
		for i := range s.History.Earlier {
			if e := &s.History.Earlier[i]; e.Kind == kind {
				sum += e.Seconds
			}
		}
		if cause := kind.TimeCause(); cause != "" {
			share = *s.Time.Of(cause)
		}
		if sum != share {
			t.violated("a history does not add up", "%d s in entries of kind %s, and %d s of time", sum, kind, share)
		}
	}
}

// historyGoesOn checks that what goes on is what the time is spent on.
func (t *truth) historyGoesOn(s *v1beta1.GenericJobStatus) {
	for i := range s.History.Entries {
		e, on := &s.History.Entries[i], s.Time.Open
		if e.End == nil && (on == nil || e.Kind.TimeCause() != on.Cause && e.Kind.TimeCause() != on.LostBy) {
			t.violated("a history goes on that is over", "%s since %s", e.Kind, e.Begin)
		}
	}
	if on := s.Time.Open; on != nil && on.LostBy != "" && !slices.ContainsFunc(s.History.Entries, func(e v1beta1.HistoryEntry) bool {
		return e.End == nil && e.Kind.TimeCause() == on.LostBy
	}) {
		t.violated("a loss is not in the history", "time is lost by %s since %s", on.LostBy, on.Since)
	}
}

// historyIsSorted checks that entries stand in the order in which they began. No two of a sort overlap: losses, or what else time is spent on.
func (t *truth) historyIsSorted(h *v1beta1.History) {
	last := map[bool]*v1beta1.HistoryEntry{}
	for i := range h.Entries {
		e := &h.Entries[i]
		if i > 0 && e.Begin.Before(&h.Entries[i-1].Begin) {
			t.violated("a history is not in order", "%s of %s after one of %s", e.Kind, e.Begin, h.Entries[i-1].Begin)
		}
		if e.Kind.TimeCause() == "" || e.End != nil && e.End.Equal(&e.Begin) {
			continue
		}
		t.lengthAddsUp(h, e)
		sort := e.Kind.IsLoss()
		if before := last[sort]; before != nil && (before.End == nil || e.Begin.Before(before.End)) {
			t.violated("two entries of a history overlap", "%s from %s to %s, and %s from %s", before.Kind, before.Begin, before.End, e.Kind, e.Begin)
		}
		last[sort] = e
	}
}

// lengthAddsUp checks that an entry that is over has taken the time from its begin to its end. Pauses and queues within a loss do not count.
func (t *truth) lengthAddsUp(h *v1beta1.History, e *v1beta1.HistoryEntry) {
	if e.End == nil || e.Kind.IsLoss() && slices.ContainsFunc(h.Earlier, func(s v1beta1.HistorySum) bool {
		return s.Kind == v1beta1.HistoryPause || s.Kind == v1beta1.HistoryQueue
	}) {
		return // a pause within it may not be listed any more
	}
	want := e.End.Sub(e.Begin.Time)
	for i := range h.Entries {
		o := &h.Entries[i]
		if !e.Kind.IsLoss() || o.Kind.IsLoss() || o.Kind == v1beta1.HistoryScale || o.End == nil {
			continue
		}
		from, to := slices.MaxFunc([]metav1.Time{o.Begin, e.Begin}, byTime), slices.MinFunc([]metav1.Time{*o.End, *e.End}, byTime)
		want -= max(0, to.Sub(from.Time))
	}
	if seconds := int64(want / time.Second); seconds != e.Seconds {
		t.violated("an entry has a wrong length", "%s from %s to %s with %d s, not %d", e.Kind, e.Begin, e.End, e.Seconds, seconds)
	}
}

func byTime(a, b metav1.Time) int { return a.Compare(b.Time) }

// historyStays checks that what was over stays as it was told, or is summed up. After the end of a job, more may become known of the failure that has
// ended it.
func (t *truth) historyStays(was, is *v1beta1.GenericJob) {
	before, after := was.Status.History, is.Status.History
	var failed string // the pod that has ended the job
	if first := is.Status.FirstFailure; was.Status.CompletionTime != nil && first != nil {
		failed = first.Pod
	}
	if before == nil {
		return
	}
	gone := 0
	for i := range before.Entries {
		e := &before.Entries[i]
		if e.End != nil && !slices.ContainsFunc(after.Entries, func(now v1beta1.HistoryEntry) bool { return isStill(&now, e, failed) }) {
			gone++
		}
	}
	if summed := int(counted(after) - counted(before)); summed < gone {
		t.violated("a history is rewritten", "%d entries are gone, and %d are summed up", gone, summed)
	}
}

// isStill reports whether an entry is one that was told before, but for the pod of a failure that has ended the job.
func isStill(now, e *v1beta1.HistoryEntry, failed string) bool {
	return now.Kind == e.Kind && now.Begin.Equal(&e.Begin) && now.End.Equal(e.End) && now.Seconds == e.Seconds && (now.Pod == e.Pod || failed != "" && now.Pod == failed)
}

func counted(h *v1beta1.History) (n int64) {
	for _, s := range h.Earlier {
		n += s.Count
	}
	return n
}
