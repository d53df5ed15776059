package simulator

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// undoneWithin is how long an edit of a GenericJob that a training job owns certainly waits to be undone, if no clock is set meanwhile.
const undoneWithin = 10 * time.Second

// editOwned is a user who pauses the GenericJob in place of the training job that owns it.
func (l *Life) editOwned() {
	have := l.api.get(key{v1beta1.KindGenericJob, jobName})
	if have == nil || have.GetDeletionTimestamp() != nil || metav1.GetControllerOf(have) == nil || !l.tape.Chance(10) {
		return
	}
	next := have.DeepCopyObject().(*v1beta1.GenericJob)
	if next.Spec.RunMode == nil || next.Spec.RunMode.Pause == nil {
		next.Spec.RunMode = modes()
	}
	next.Spec.RunMode.Pause.Enabled = !next.Spec.RunMode.Pause.Enabled
	if rec := l.truth.recordOf(next.UID); !isStray(next) {
		rec.strayAt = l.now
	}
	if l.api.update(next, false) == nil {
		l.say("a user pauses or resumes the GenericJob that the training job owns")
	}
}

// setClock sets the clock of an operator.
func (l *Life) setClock(o *operator) {
	o.skew = []time.Duration{0, time.Second, -time.Second, time.Minute, -time.Minute, 6 * time.Minute}[l.tape.choose(6, 5, 4)]
	l.say("%s: its clock is off by %s", o.name, o.skew)
	l.truth.clockSet = l.now
}

// isStray reports whether the spec of a GenericJob is not what its training job was compiled to last.
func isStray(job *v1beta1.GenericJob) bool {
	n, err := strconv.ParseInt(job.Annotations[v1beta1.AnnotationCompiledGeneration], 10, 64)
	return err == nil && job.Generation > n && metav1.GetControllerOf(job) != nil
}

// strayWritten checks that nobody acts by such a spec as long as it may be undone. Pods would be stopped for it, which nothing counts.
func (t *truth) strayWritten(was, is *v1beta1.GenericJob) {
	age := t.life.now.Sub(t.recordOf(is.UID).strayAt)
	if isStray(is) && t.clockSet.Before(t.recordOf(is.UID).strayAt) && was.Status.CompletionTime == nil && is.Status.ObservedGeneration == is.Generation && age < undoneWithin {
		t.violated("an edit of a GenericJob that a training job owns acts", "generation %d, after %s", is.Generation, age)
	}
}
