package simulator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// This file checks what statuses say of recoveries, and of accelerators: some jobs ask for them.

// drawDevices has some jobs ask for accelerators, of those that Kueue does not count. It draws nothing.
func drawDevices(t *Tape, s *v1beta1.GenericJobSpec) {
	if n := t.spareOf(8, 4); n > 1 && (s.Scheduler == nil || s.Scheduler.Kueue == nil) {
		s.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": *quantity.NewQuantity(int64(n), quantity.DecimalSI)}
	}
}

// weighsBySize checks that replicas and accelerators were counted, of a job that has kept its size.
func (t *truth) weighsBySize(before, after *v1beta1.JobTime) {
	if before.Open.Replicas != after.Open.Replicas || before.Open.Devices != after.Open.Devices {
		return
	}
	for _, w := range []struct {
		was, is *v1beta1.TimeShares
		times   int64
	}{{before.ReplicaSeconds, after.ReplicaSeconds, int64(after.Open.Replicas)}, {before.DeviceSeconds, after.DeviceSeconds, after.Open.Devices}} {
		if w.was == nil {
			w.was = &v1beta1.TimeShares{}
		}
		if w.is == nil {
			w.is = &v1beta1.TimeShares{}
		}
		for _, cause := range v1beta1.TimeCauses {
			if passed := *after.Of(cause) - *before.Of(cause); *w.is.Of(cause)-*w.was.Of(cause) != passed*w.times {
				t.violated("a second is weighed wrongly", "%d s %s, %d times, were %d to %d", passed, cause, w.times, *w.was.Of(cause), *w.is.Of(cause))
			}
		}
	}
}

// recoveryWritten checks a recovery against the one before, and against the time that was lost.
func (t *truth) recoveryWritten(was, is *v1beta1.GenericJob) {
	before, after := was.Status.Recovery, is.Status.Recovery
	if after != nil {
		t.inOrder(after)
	}
	if before != nil && after != nil && before.Began.Equal(&after.Began) && took(before) &&
		(!before.Replaced.Equal(after.Replaced) || !before.Detected.Equal(&after.Detected) || before.Stepped != nil && !before.Stepped.Equal(after.Stepped)) {
		t.violated("a recovery is told twice", "%+v, then %+v", *before, *after)
	}
	now := is.Status.Time
	if now == nil || now.Open == nil {
		if after != nil && after.Replaced == nil && is.Status.CompletionTime != nil {
			t.violated("a job recovers from its end", "%+v", *after)
		}
		return
	}
	goesOn := after != nil && after.Replaced == nil
	switch lost := now.Open.LostBy != ""; {
	case goesOn && now.Open.Cause == v1beta1.TimePaused:
		t.violated("a pause is part of a recovery", "%+v", *after)
	case goesOn && !lost:
		t.violated("a recovery does not end", "the time is %s, and the recovery %+v", now.Open.Cause, *after)
	case lost && goesOn && (after.Cause != now.Open.LostBy || after.Began.After(now.Open.Since.Time)):
		t.violated("a recovery begins at a wrong time", "%+v, and the time is %+v", *after, *now.Open)
	}
	t.recoveredOnce(was, is)
}

// took reports whether a recovery is over, and took a second at least. Else another loss may begin in that second.
func took(r *v1beta1.Recovery) bool {
	return r != nil && r.Replaced != nil && !r.Replaced.Equal(&r.Began)
}

// inOrder checks the times of a recovery.
func (t *truth) inOrder(r *v1beta1.Recovery) {
	last := r.Began.Time
	for _, at := range []*metav1.Time{&r.Detected, r.Replaced, r.Stepped} {
		if at == nil {
			continue
		}
		if at.Time.Before(last) {
			t.violated("a recovery is out of order", "%+v", *r)
		}
		last = at.Time
	}
	if r.Stepped != nil && r.Replaced == nil {
		t.violated("a recovery is out of order", "%+v", *r)
	}
}

// recoveredOnce checks that no recovery counts which counted before.
func (t *truth) recoveredOnce(was, is *v1beta1.GenericJob) {
	before, after := was.Status.Recovery, is.Status.Recovery
	if !took(after) || took(before) && before.Began.Equal(&after.Began) {
		return
	}
	r := t.recordOf(is.UID)
	if r.recovered == nil {
		r.recovered = map[[2]time.Time]bool{}
	}
	which := [2]time.Time{after.Began.UTC(), after.Replaced.UTC()}
	if r.recovered[which] {
		t.violated("a recovery counts twice", "%+v", *after)
	}
	r.recovered[which] = true
}
