package ledger

import (
	"cmp"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// What the time of a job is spent on. The status holds a share for each cause, and the interval that goes on. Only what ends an interval
// changes them, so that time alone leads to no write. All times are in whole seconds, as the status keeps them: so the shares add up.

// Present is what decides what time is spent on from now on.
type Present struct {
	Paused  bool // the job is to pause, or is debugged
	Queued  bool // its queue has not admitted it, and its pods are stopped
	Evicted bool // ... because its queue has taken the quota back
	Waits   bool // its gang scheduler's objects are missing: what runs goes on
	// Loss is by what this reconcile has found that code ended which is run again; "" if none did.
	Loss v1beta1.TimeCause
	// Runs says that as many replicas run as have to. It need not be known while the job trains, until a loss.
	Runs bool
	// Basis is what shows that replicas which run also train.
	Basis v1beta1.TimeBasis
}

// Follows is the interval that follows on one, as far as the cause goes. A loss that has begun goes on until all run, whatever comes between. A job
// that trains does so until something ends code: who is new, or is about to go, changes nothing.
func (p *Present) Follows(on *v1beta1.OpenTime) (next v1beta1.OpenTime) {
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
	case p.Runs, trained && p.Loss == "":
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

// timeOf reads it from a status; nil if somebody has written it without a beginning, which the apiserver would not take back.
func timeOf(s *v1beta1.GenericJobStatus) *v1beta1.JobTime {
	if t := s.Time; t == nil || t.Since.IsZero() || t.Open != nil && t.Open.Since.IsZero() {
		return nil
	}
	return s.Time
}

// Time is what the job's time was spent on; nil before that is kept. It must not be changed.
func (l *Ledger) Time() *v1beta1.JobTime { return l.time }

// Trains reports whether the job's time is productive.
func (l *Ledger) Trains() bool {
	return l.time != nil && l.time.Open != nil && l.time.Open.Cause == v1beta1.TimeProductive
}

// KeepTime begins to keep what the job's time is spent on. That begins with the job, or for one that an earlier operator has seen, now: nobody
// knows what went before.
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
	d.history = begin(d.time).History
}

// Spend has the present follow from a time on. The clocks of nodes and of operators differ, so that is cut to lie between the beginning of the
// interval that goes on, and now.
func (d Draft) Spend(p *Present, from, now time.Time) {
	if d.time == nil || d.time.Open == nil {
		return
	}
	if d.time.Basis != p.Basis {
		d.time = d.time.DeepCopy()
		d.time.Basis = p.Basis
	}
	next := p.Follows(d.time.Open)
	if d.unwritten() && next.Cause != v1beta1.TimeProductive && p.Loss == "" {
		from = d.time.Since.Time // it has never been anything else
	}
	d.spend(next, from, now)
	d.count(p.Loss, from, now)
}

// Trained notes that the job trained from a time on, in an interval of another cause that is about to end. No pods are made for one in which it is
// stopped.
func (d Draft) Trained(from, now time.Time) {
	if d.hasPods() {
		d.spend(v1beta1.OpenTime{Cause: v1beta1.TimeProductive}, from, now)
	}
}

// Lost notes that a loss began at a time, before the job was stopped: the operator has seen both at once.
func (d Draft) Lost(by v1beta1.TimeCause, from, now time.Time) {
	if d.hasPods() {
		by = cmp.Or(d.time.Open.LostBy, by)
		d.spend(v1beta1.OpenTime{Cause: by, LostBy: by}, from, now)
	}
}

// hasPods reports whether the interval that goes on is one for which pods are made.
func (d Draft) hasPods() bool {
	return d.time != nil && d.time.Open != nil && d.time.Open.Cause != v1beta1.TimePaused && d.time.Open.Cause != v1beta1.TimeQueued
}

// EndTime ends the interval that goes on, with the job.
func (d Draft) EndTime(now time.Time) {
	if d.time == nil || d.time.Open == nil {
		return
	}
	before, t := d.time, d.time.DeepCopy()
	closeAt(t, now)
	t.Open = nil
	d.time = t
	d.follow(before, now, now)
	d.endRecovery()
}

// unwritten reports whether no status holds what the time is spent on.
func (d Draft) unwritten() bool { return d.job.Status.Time == nil }

// spend ends the interval that goes on, if the next is another, or the job has another size.
func (d Draft) spend(next v1beta1.OpenTime, from, now time.Time) {
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
	if resized && !d.unwritten() { // it had the old one until now
		closeAt(d.time, now)
	}
	next.Since = d.time.Open.Since
	d.recover(on, &next, now)
	d.time.Open = &next
	d.follow(before, from, now)
}

// noteStep notes how far a job has come that ceases to train, so far as it has told that.
func (d Draft) noteStep() {
	p := d.job.Status.Progress
	if p == nil || p.Step == nil {
		return
	}
	d.time.RecomputedAtLeast = d.time.RecomputedAtLeast || d.time.StepBefore != nil // how much was done again since the last time, nobody was told
	d.time.StepBefore = new(*p.Step)
}

// Recompute adds time that went into steps which had been done before the job ceased to train last. Exact says that it was not more. It is a part of
// the productive time, whatever the code says.
func (d Draft) Recompute(spent time.Duration, exact bool, now time.Time) {
	d.time = d.time.DeepCopy()
	d.time.StepBefore = nil
	most := d.time.Productive + max(0, int64(now.Sub(d.time.Open.Since.Time)/time.Second))
	d.time.Recomputed = max(d.time.Recomputed, min(d.time.Recomputed+int64(spent/time.Second), most))
	d.time.RecomputedAtLeast = d.time.RecomputedAtLeast || !exact
}

// closeAt adds the interval that goes on to the shares, up to a time, and begins another of that cause.
func closeAt(t *v1beta1.JobTime, at time.Time) {
	n := int64(at.Truncate(time.Second).Sub(t.Open.Since.Time) / time.Second)
	if n <= 0 {
		return // another operator's clock may have been ahead of ours: what was counted stays
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

// sum is that of two numbers of which the second is not negative, so far as it can be stored.
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

// size is how many replicas the job has, and accelerators. Auxiliary replicas do not train, but they keep what they ask for.
func (l *Ledger) size() (replicas int32, devices int64) {
	for _, a := range l.types {
		if !a.Auxiliary {
			replicas += int32(a.N)
		}
		devices += int64(a.N) * spec.Devices(&a.Template.Spec)
	}
	return replicas, min(devices, spec.MostDevices)
}
