package ledger

import (
	"cmp"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// What the time of a job is spent on. The status holds a share for each cause, and the open interval, which has not ended yet. They change only when
// an interval ends. So it leads to no write that time passes. All times are in whole seconds, as the status keeps them, so the shares add up.

// TimeFacts has the facts that decide what time is spent on from now on.
type TimeFacts struct {
	Paused  bool // the job is to pause, or is debugged
	Queued  bool // its queue has not admitted it, and its pods are stopped
	Evicted bool // ... because its queue has taken the quota back
	Waits   bool // its gang scheduler's objects are missing; pods that run go on
	// Loss is what has ended code, by this reconcile; "" if nothing has.
	Loss v1beta1.TimeCause
	// Anew says that all replicas begin again, though nothing is lost: one has succeeded under policy Always.
	Anew bool
	// Runs says that enough replicas run. While the job trains, it matters only after a loss.
	Runs bool
	// Basis is by what the operator knows that running replicas also train.
	Basis v1beta1.TimeBasis
}

// Follows returns the cause of the interval after the open one, and its loss. A loss lasts until enough replicas run, whatever comes between. A job
// that trains goes on training until code ends: replicas that are new, or are about to go, change nothing.
func (p *TimeFacts) Follows(on *v1beta1.OpenTime) (next v1beta1.OpenTime) {
	trained := on.Cause == v1beta1.TimeProductive
	next.LostBy = on.LostBy
	if next.LostBy == "" {
		next.LostBy = p.Loss
	}
	if next.LostBy == "" && p.Evicted && trained {
		next.LostBy = v1beta1.TimeLostToDisruption
	}
	switch {
	case p.Paused:
		next.Cause = v1beta1.TimePaused
	case p.Queued:
		next.Cause = v1beta1.TimeQueued
	case p.Runs, trained && p.Loss == "" && !p.Anew:
		return v1beta1.OpenTime{Cause: v1beta1.TimeProductive}
	case p.Waits:
		next.Cause = v1beta1.TimeQueued
	case next.LostBy != "":
		next.Cause = next.LostBy
	default:
		next.Cause = v1beta1.TimeStarting
	}
	return next
}

// timeOf reads the time from a status. It returns nil if somebody has written one without a beginning: the apiserver would refuse to store that again.
func timeOf(s *v1beta1.GenericJobStatus) *v1beta1.JobTime {
	if t := s.Time; t == nil || t.Since.IsZero() || t.Open != nil && t.Open.Since.IsZero() {
		return nil
	}
	return s.Time
}

// Time returns what the job's time was spent on; nil if it is not kept yet. The caller must not change it.
func (l *Ledger) Time() *v1beta1.JobTime { return l.time }

// Trains reports whether the job's time is productive.
func (l *Ledger) Trains() bool {
	return l.time != nil && l.time.Open != nil && l.time.Open.Cause == v1beta1.TimeProductive
}

// TrainsSince returns since when the job's time is productive; zero if it is not. A scale begins another interval, but interrupts nothing. So it is
// when the last other entry of the history ended, or if there was none, since the beginning. If entries are not listed any more, that is unknown: then
// it is since the first that is.
func (l *Ledger) TrainsSince() time.Time {
	if !l.Trains() {
		return time.Time{}
	}
	h, since := l.history, l.time.Since
	if h == nil {
		return l.time.Open.Since.Time
	}
	if len(h.Earlier) > 0 {
		since = l.time.Open.Since
		if len(h.Entries) > 0 && h.Entries[0].Begin.Before(&since) {
			since = h.Entries[0].Begin
		}
	}
	for _, e := range h.Entries {
		if e.Kind != v1beta1.HistoryScale && e.End != nil {
			since = later(since, *e.End)
		}
	}
	return since.Time
}

// KeepTime begins to keep what the job's time is spent on, from the creation of the job on. For a job that an earlier version of the operator has
// seen, it begins now: nobody knows what was before.
func (d Draft) KeepTime(now time.Time) {
	if d.time != nil || d.job.Status.CompletionTime != nil {
		return
	}
	since := now
	if created := d.job.CreationTimestamp.Time; d.noStatus && !created.IsZero() && created.Before(now) {
		since = created
	}
	at := metav1.NewTime(since.Truncate(time.Second))
	on := v1beta1.OpenTime{Cause: v1beta1.TimeStarting, Since: at}
	on.Replicas, on.Devices = d.size()
	d.time = &v1beta1.JobTime{Since: at, Open: &on}
	d.history = newHistory(d.time).History
}

// SetTimeFacts begins the interval that follows from the present facts, at a time. That time is cut to lie between the beginning of the open interval
// and now, because the clocks of nodes and operators differ.
func (d Draft) SetTimeFacts(p *TimeFacts, from, now time.Time) {
	if d.time == nil || d.time.Open == nil {
		return
	}
	if d.time.Basis != p.Basis {
		d.time = d.time.DeepCopy()
		d.time.Basis = p.Basis
	}
	next := p.Follows(d.time.Open)
	if d.isUnwritten() && next.Cause != v1beta1.TimeProductive && p.Loss == "" {
		from = d.time.Since.Time // nothing is stored yet, so this has held from the beginning
	}
	d.beginInterval(next, from, now)
	d.countRestarts(p.Loss, from, now)
}

// NoteTraining notes that the job has trained since a time, though the open interval has another cause. It does nothing in an interval in which the
// job has no pods.
func (d Draft) NoteTraining(from, now time.Time) {
	if d.hasPods() {
		d.beginInterval(v1beta1.OpenTime{Cause: v1beta1.TimeProductive}, from, now)
	}
}

// NoteLoss notes that a loss began at a time, before the job was paused or queued. The operator has seen both in one reconcile.
func (d Draft) NoteLoss(by v1beta1.TimeCause, from, now time.Time) {
	if d.hasPods() {
		by = cmp.Or(d.time.Open.LostBy, by)
		d.beginInterval(v1beta1.OpenTime{Cause: by, LostBy: by}, from, now)
	}
}

// hasPods reports whether the job gets pods in the open interval.
func (d Draft) hasPods() bool {
	return d.time != nil && d.time.Open != nil && d.time.Open.Cause != v1beta1.TimePaused && d.time.Open.Cause != v1beta1.TimeQueued
}

// CloseTime ends the open interval, because the job has ended.
func (d Draft) CloseTime(now time.Time) {
	if d.time == nil || d.time.Open == nil {
		return
	}
	before, t := d.time, d.time.DeepCopy()
	closeAt(t, now)
	t.Open = nil
	d.time = t
	d.updateHistory(before, now, now)
	d.endRecovery()
}

// isUnwritten reports whether no stored status has the time yet.
func (d Draft) isUnwritten() bool { return d.job.Status.Time == nil }

// beginInterval ends the open interval and begins the next, if that has another cause or loss, or the job has another size.
func (d Draft) beginInterval(next v1beta1.OpenTime, from, now time.Time) {
	on := d.time.Open
	next.Replicas, next.Devices = d.size()
	resized := next.Replicas != on.Replicas || next.Devices != on.Devices
	if next.Cause == on.Cause && next.LostBy == on.LostBy && !resized {
		return
	}
	if from.After(now) {
		from = now
	}
	before := d.time
	d.time = d.time.DeepCopy()
	if next.Cause != on.Cause {
		closeAt(d.time, from)
		d.time.Open.Cause = next.Cause
	}
	if on.Cause == v1beta1.TimeProductive && next.Cause != on.Cause {
		d.noteStep()
	}
	if resized && !d.isUnwritten() { // the job had the old size until now
		closeAt(d.time, now)
	}
	next.Since = d.time.Open.Since
	d.noteRecovery(on, &next, now)
	d.time.Open = &next
	d.updateHistory(before, from, now)
}

// noteStep notes the step at which the job stops training, as far as it has told steps.
func (d Draft) noteStep() {
	p := d.job.Status.Progress
	if p == nil || p.Step == nil {
		return
	}
	d.time.RecomputedAtLeast = d.time.RecomputedAtLeast || d.time.StepBefore != nil // the code has not told how much it did again after the last stop
	d.time.StepBefore = new(*p.Step)
}

// Recompute adds the time of steps that were done again after the job last stopped training. Exact says that it is not more. It is a part of the
// productive time, so it is never longer than that, whatever the code reports.
func (d Draft) Recompute(spent time.Duration, exact bool, now time.Time) {
	d.time = d.time.DeepCopy()
	d.time.StepBefore = nil
	most := d.time.Productive + max(0, int64(now.Sub(d.time.Open.Since.Time)/time.Second))
	d.time.Recomputed = max(d.time.Recomputed, min(d.time.Recomputed+int64(spent/time.Second), most))
	d.time.RecomputedAtLeast = d.time.RecomputedAtLeast || !exact
}

// closeAt adds the open interval to the shares, up to a time, and lets it begin at that time.
func closeAt(t *v1beta1.JobTime, at time.Time) {
	n := int64(at.Truncate(time.Second).Sub(t.Open.Since.Time) / time.Second)
	if n <= 0 {
		return // the clock of another operator may have been ahead: what it has counted stays
	}
	add(&t.TimeShares, t.Open.Cause, n)
	t.ReplicaSeconds = weighted(t.ReplicaSeconds, t.Open.Cause, n, int64(t.Open.Replicas))
	t.DeviceSeconds = weighted(t.DeviceSeconds, t.Open.Cause, n, t.Open.Devices)
	t.Open.Since = metav1.NewTime(t.Open.Since.Add(time.Duration(n) * time.Second))
}

func add(s *v1beta1.TimeShares, cause v1beta1.TimeCause, n int64) {
	share := s.Of(cause)
	if share == nil { // somebody has written it
		share = &s.Starting
	}
	*share, s.Total = sum(*share, n), sum(s.Total, n)
}

// sum returns a + b, or the largest number if that is too large. B is not negative.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func weighted(s *v1beta1.TimeShares, cause v1beta1.TimeCause, n, times int64) *v1beta1.TimeShares {
	if times <= 0 {
		return s
	}
	if s == nil {
		s = &v1beta1.TimeShares{}
	}
	if n > math.MaxInt64/times {
		n, times = math.MaxInt64, 1
	}
	add(s, cause, n*times)
	return s
}

// size returns how many replicas and accelerators the job has. Auxiliary replicas do not count, because they do not train; their accelerators do.
func (l *Ledger) size() (replicas int32, devices int64) {
	for _, a := range l.accountsOfSpec {
		if !a.Auxiliary {
			replicas += int32(a.N)
		}
		devices += int64(a.N) * spec.Devices(&a.Template.Spec)
	}
	return replicas, min(devices, spec.MostDevices)
}
