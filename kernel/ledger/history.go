package ledger

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The history of a job. It follows what the job's time is spent on (see time.go): an entry begins and ends with an interval of the time. So entries
// change only when the time is written anyway, and their seconds add up to the shares. An open entry or interval is one that has not ended yet.

const (
	// maxEntries is how many entries the CRD allows. maxHistory is how many bytes the history may have.
	maxEntries, maxHistory = 20, 4000
)

// History returns what came between the work of the job; nil if nothing is kept yet. The caller must not change it.
func (l *Ledger) History() *v1beta1.History { return l.history }

// ExplainLoss notes what is known of the loss that this reconcile has found: where and why it came. Begin is when code ended; zero if unknown.
func (d Draft) ExplainLoss(why v1beta1.HistoryEntry) { d.why = why }

// CorrectLoss replaces what the history tells of a failure (told) by another failure, which came first (why). The entry is that of the open loss, or
// of the loss that ended the job. It stays if it does not tell of that failure: the loss may have begun with an earlier one of the same pod.
func (d Draft) CorrectLoss(told, why v1beta1.HistoryEntry) {
	if d.history == nil {
		return
	}
	h := historyDraft{d.history.DeepCopy()}
	e := h.loss()
	if n := len(h.Entries); n > 0 && d.job.Status.CompletionTime != nil {
		e = &h.Entries[n-1]
	}
	if e != nil && isSame(e, &told) && (e.Kind == v1beta1.HistoryFailure || e.Kind == v1beta1.HistoryHang) {
		copyCause(e, &why)
		d.history = h.bounded()
	}
}

// isSame reports whether two entries tell of the same failure.
func isSame(a, b *v1beta1.HistoryEntry) bool {
	return a.Pod == b.Pod && a.Node == b.Node && a.Message == b.Message && ptr.Equal(a.ExitCode, b.ExitCode)
}

// copyCause copies what is known of a loss into its entry.
func copyCause(e, why *v1beta1.HistoryEntry) {
	e.Pod, e.Probable, e.Node, e.ExitCode, e.Cause, e.Message = why.Pod, why.Probable, why.Node, why.ExitCode, why.Cause, why.Message
}

// newHistory returns the history of a job whose time is kept already. Of that time only sums are known.
func newHistory(t *v1beta1.JobTime) historyDraft {
	h := historyDraft{&v1beta1.History{}}
	for _, kind := range v1beta1.HistoryKinds {
		if n, devices := spentOn(t, kind); n > 0 || devices > 0 {
			h.Earlier = append(h.Earlier, v1beta1.HistorySum{Kind: kind, Seconds: n, DeviceSeconds: devices})
		}
	}
	for _, kind := range kindsOf(t.Open) {
		h.Entries = append(h.Entries, v1beta1.HistoryEntry{Kind: kind, Begin: t.Open.Since})
	}
	return h
}

// historyDraftOf returns a copy of the history, to be changed.
func (d Draft) historyDraftOf(t *v1beta1.JobTime) historyDraft {
	if d.history == nil {
		return newHistory(t)
	}
	return historyDraft{d.history.DeepCopy()}
}

// updateHistory updates the history after the time has changed from before to d.time. From is when the change came.
func (d Draft) updateHistory(before *v1beta1.JobTime, from, now time.Time) {
	h := d.historyDraftOf(before)
	kindsBefore, kinds := kindsOf(before.Open), kindsOf(d.time.Open)
	at := boundary(before, d.time)
	for _, kind := range kinds {
		e := v1beta1.HistoryEntry{Kind: kind, Begin: at}
		if slices.Contains(kindsBefore, kind) { // its entry is open already, unless somebody has deleted it
			e.Begin = before.Open.Since
		} else if kind.IsLoss() {
			copyCause(&e, &d.why)
			if d.time.Open.Cause == before.Open.Cause { // code ended in an interval that stays open, such as a pause
				e.Begin = d.lostIn(at, from, now)
			}
		}
		if h.open(kind) == nil {
			h.Entries = append(h.Entries, e)
		}
	}
	for _, kind := range v1beta1.HistoryKinds {
		n, devices := spentOn(d.time, kind)
		n0, devices0 := spentOn(before, kind)
		h.addTime(kind, n-n0, devices-devices0)
	}
	if next := d.time.Open; next == nil || next.Cause != before.Open.Cause {
		h.cut(at)
	}
	h.close(kinds, at)
	if on, next := before.Open, d.time.Open; next != nil && on.Replicas != next.Replicas {
		h.Entries = append(h.Entries, v1beta1.HistoryEntry{
			Kind: v1beta1.HistoryScale, Begin: next.Since, End: new(next.Since), From: new(on.Replicas), To: new(next.Replicas),
		})
	}
	d.history = h.bounded()
}

// boundary returns when the interval that was open before has ended.
func boundary(before, after *v1beta1.JobTime) metav1.Time {
	cause := before.Open.Cause
	if before.Of(cause) == nil { // somebody has written it
		cause = v1beta1.TimeStarting
	}
	n := *after.Of(cause) - *before.Of(cause)
	return metav1.NewTime(before.Open.Since.Add(Seconds(n)))
}

// lostIn returns when a loss began, if it began in an interval that has been open since a time.
func (d Draft) lostIn(since metav1.Time, from, now time.Time) metav1.Time {
	if at := d.why.Begin; !at.IsZero() {
		from = at.Time
	}
	if from.After(now) {
		from = now
	}
	if from.Before(since.Time) {
		return since
	}
	return metav1.NewTime(from.Truncate(time.Second))
}

// countRestarts adds the restarts of this reconcile to the entry of the loss. A loss that costs no time, because enough of the other replicas go on,
// has an entry, too.
func (d Draft) countRestarts(by v1beta1.TimeCause, from, now time.Time) {
	if by == "" {
		return
	}
	h := d.historyDraftOf(d.time)
	e := h.loss()
	if e == nil {
		at := d.lostIn(d.time.Open.Since, from, now)
		h.Entries = append(h.Entries, v1beta1.HistoryEntry{Kind: kindOf(by), Begin: at, End: &at})
		e = &h.Entries[len(h.Entries)-1]
		copyCause(e, &d.why)
	}
	e.Restarts = sum(e.Restarts, max(0, d.restarts()-restartsIn(&d.job.Status)))
	d.history = h.bounded()
}

// restarts returns how many restarts there were, whether or not a limit counts them.
func (r *run) restarts() int64 {
	return int64(r.countedRestarts) + int64(r.disruptions) + int64(r.excepted)
}

func restartsIn(s *v1beta1.GenericJobStatus) int64 {
	return int64(s.BackoffCount) + int64(s.DisruptionCount) + int64(s.ExceptedCount)
}

// kindOf returns the kind of entry for what time is spent on; "" for productive time.
func kindOf(cause v1beta1.TimeCause) v1beta1.HistoryKind {
	for _, kind := range v1beta1.HistoryKinds {
		if cause != "" && kind.TimeCause() == cause {
			return kind
		}
	}
	return ""
}

// kindsOf returns the kinds of the entries that are open in an interval: a loss, and what else the time is spent on meanwhile.
func kindsOf(on *v1beta1.OpenTime) (kinds []v1beta1.HistoryKind) {
	if on == nil {
		return nil
	}
	for _, kind := range []v1beta1.HistoryKind{kindOf(on.LostBy), kindOf(on.Cause)} {
		if kind != "" && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// spentOn returns the time of all intervals of a kind that have ended.
func spentOn(t *v1beta1.JobTime, kind v1beta1.HistoryKind) (seconds, devices int64) {
	cause := kind.TimeCause()
	if share := t.Of(cause); share != nil {
		seconds = *share
	}
	if t.DeviceSeconds != nil {
		if share := t.DeviceSeconds.Of(cause); share != nil {
			devices = *share
		}
	}
	return seconds, devices
}

// historyDraft is a history that is being written.
type historyDraft struct{ *v1beta1.History }

// open returns the open entry of a kind; nil if there is none.
func (h historyDraft) open(kind v1beta1.HistoryKind) *v1beta1.HistoryEntry {
	for i := range h.Entries {
		if e := &h.Entries[i]; e.Kind == kind && e.End == nil {
			return e
		}
	}
	return nil
}

// loss returns the open entry of a loss; nil if there is none.
func (h historyDraft) loss() *v1beta1.HistoryEntry {
	for i := range h.Entries {
		if e := &h.Entries[i]; e.Kind.IsLoss() && e.End == nil {
			return e
		}
	}
	return nil
}

// cut lets no open entry begin after the end of the interval in which it began. An operator whose clock was ahead may have written a later time.
func (h historyDraft) cut(at metav1.Time) {
	for i := range h.Entries {
		if e := &h.Entries[i]; e.End == nil && at.Before(&e.Begin) {
			e.Begin = at
		}
	}
}

// addTime adds time to the open entry of a kind, or to its sum if there is none.
func (h historyDraft) addTime(kind v1beta1.HistoryKind, n, devices int64) {
	if n <= 0 && devices <= 0 {
		return
	}
	if e := h.open(kind); e != nil {
		e.Seconds, e.DeviceSeconds = sum(e.Seconds, max(0, n)), sum(e.DeviceSeconds, max(0, devices))
		return
	}
	s := h.earlier(kind)
	s.Seconds, s.DeviceSeconds = sum(s.Seconds, max(0, n)), sum(s.DeviceSeconds, max(0, devices))
}

// close ends all open entries, except those of some kinds. It removes an entry of the start that took no time: a job may be paused or queued when it
// is first seen.
func (h historyDraft) close(but []v1beta1.HistoryKind, at metav1.Time) {
	h.Entries = slices.DeleteFunc(h.Entries, func(e v1beta1.HistoryEntry) bool {
		return e.Kind == v1beta1.HistoryStart && e.End == nil && !slices.Contains(but, e.Kind) && !e.Begin.Before(&at)
	})
	for i := range h.Entries {
		if e := &h.Entries[i]; e.End == nil && !slices.Contains(but, e.Kind) {
			e.End = &at
			if at.Before(&e.Begin) {
				e.End = new(e.Begin)
			}
		}
	}
}

// earlier returns the sum of the entries of a kind that are no longer listed.
func (h historyDraft) earlier(kind v1beta1.HistoryKind) *v1beta1.HistorySum {
	i := slices.IndexFunc(h.Earlier, func(s v1beta1.HistorySum) bool { return s.Kind == kind })
	if i < 0 {
		i = len(h.Earlier)
		h.Earlier = append(h.Earlier, v1beta1.HistorySum{Kind: kind})
	}
	return &h.Earlier[i]
}

// bounded returns the history with its entries in the order in which they began. If there are too many, or they are too large, it adds the oldest to
// the sums. Open entries stay.
func (h historyDraft) bounded() *v1beta1.History {
	slices.SortStableFunc(h.Entries, func(a, b v1beta1.HistoryEntry) int { return a.Begin.Compare(b.Begin.Time) })
	for len(h.Entries) > maxEntries || h.size() > maxHistory {
		i := slices.IndexFunc(h.Entries, func(e v1beta1.HistoryEntry) bool { return e.End != nil })
		if i < 0 {
			break
		}
		e, s := h.Entries[i], h.earlier(h.Entries[i].Kind)
		s.Count, s.Restarts = sum(s.Count, 1), sum(s.Restarts, e.Restarts)
		s.Seconds, s.DeviceSeconds = sum(s.Seconds, e.Seconds), sum(s.DeviceSeconds, e.DeviceSeconds)
		h.Entries = slices.Delete(h.Entries, i, i+1)
	}
	return h.History
}

func (h historyDraft) size() int {
	text, err := json.Marshal(h.History)
	if err != nil {
		return 0 // cannot happen: API types can always be written
	}
	return len(text)
}
