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
	if after == nil {
		return
	}
	t.timesAscend(after)
	t.staysRecovered(before, after)
	t.recoveredOnce(is, before, after)
	if after.Replaced != nil {
		return
	}
	switch now := is.Status.Time; {
	case is.Status.CompletionTime != nil:
		t.violated("a job recovers from its end", "%+v", *after)
	case now != nil && now.Open != nil:
		t.recoversInTime(after, now.Open)
	}
}

// staysRecovered checks that what is known of a recovery does not change.
func (t *truth) staysRecovered(before, after *v1beta1.Recovery) {
	if !took(before) || !before.Began.Equal(&after.Began) {
		return
	}
	if !before.Replaced.Equal(after.Replaced) || !before.Detected.Equal(&after.Detected) || before.Stepped != nil && !before.Stepped.Equal(after.Stepped) {
		t.violated("a recovery is told twice", "%+v, then %+v", *before, *after)
	}
}

// recoversInTime checks a recovery that goes on against the interval that does.
func (t *truth) recoversInTime(r *v1beta1.Recovery, on *v1beta1.OpenTime) {
	switch {
	case on.Cause == v1beta1.TimePaused:
		t.violated("a pause is part of a recovery", "%+v", *r)
	case on.LostBy == "":
		t.violated("a recovery does not end", "the time is %s, and the recovery %+v", on.Cause, *r)
	case r.Cause != on.LostBy || r.Began.After(on.Since.Time):
		t.violated("a recovery begins at a wrong time", "%+v, and the time is %+v", *r, *on)
	}
}

// took reports whether a recovery is over, and took a second at least. Else another loss may begin in that second.
func took(r *v1beta1.Recovery) bool {
	return r != nil && r.Replaced != nil && !r.Replaced.Equal(&r.Began)
}

// timesAscend checks the times of a recovery.
func (t *truth) timesAscend(r *v1beta1.Recovery) {
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
func (t *truth) recoveredOnce(is *v1beta1.GenericJob, before, after *v1beta1.Recovery) {
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
