package ledger

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// How the job came back from its last loss. A loss begins and ends with intervals of the time (see time.go), and has their times.

// recoveryOf reads the recovery from a status. It returns nil if somebody has written one without times: the apiserver would refuse to store that
// again.
func recoveryOf(s *v1beta1.GenericJobStatus) *v1beta1.Recovery {
	r := s.Recovery
	if r == nil || r.Began.IsZero() || r.Detected.IsZero() || r.Replaced != nil && r.Replaced.IsZero() || r.Stepped != nil && r.Stepped.IsZero() {
		return nil
	}
	return r
}

// Recovery returns how the job came back from its last loss; nil if there was none. The caller must not change it.
func (l *Ledger) Recovery() *v1beta1.Recovery { return l.recovery }

// noteRecovery notes that a loss begins or ends, when the interval next follows the interval on. A pause drops a recovery that has not ended: how
// long a job takes that is not to run says nothing.
func (d Draft) noteRecovery(on, next *v1beta1.OpenTime, now time.Time) {
	r := d.recovery
	goesOn := r != nil && r.Replaced == nil
	switch {
	case next.Cause == v1beta1.TimePaused:
		if goesOn {
			d.recovery = nil
		}
	case next.LostBy != "" && on.LostBy == "":
		d.recovery = &v1beta1.Recovery{Cause: next.LostBy, Began: next.Since, Detected: later(next.Since, metav1.NewTime(now.Truncate(time.Second)))}
	case goesOn && on.LostBy != "" && next.Cause == v1beta1.TimeProductive:
		r = r.DeepCopy()
		r.Replaced = new(later(r.Began, next.Since))
		if r.Replaced.Before(&r.Detected) { // by the clock of a node, or the operator was down
			r.Detected = *r.Replaced
		}
		d.recovery = r
	}
}

// NoteFirstStep notes when the code told its first step since enough replicas run again, if no other loss has come between.
func (d Draft) NoteFirstStep(at time.Time) {
	r := d.recovery
	if r == nil || r.Replaced == nil || r.Stepped != nil || !d.Trains() || !d.time.Open.Since.Equal(r.Replaced) {
		return
	}
	r = r.DeepCopy()
	r.Stepped = new(later(*r.Replaced, metav1.NewTime(at.Truncate(time.Second))))
	d.recovery = r
}

// endRecovery drops a recovery that has not ended when the job ends. The recovery of the loss before stays.
func (d Draft) endRecovery() {
	if r := d.recovery; r != nil && r.Replaced == nil {
		if d.recovery = recoveryOf(&d.job.Status); d.recovery != nil && d.recovery.Replaced == nil {
			d.recovery = nil
		}
	}
}

func later(a, b metav1.Time) metav1.Time {
	if b.After(a.Time) {
		return b
	}
	return a
}
