package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// firstWritten checks a status that tells of several failures. What followed from the end of another is not told as the first beside one that did
// not.
func (t *truth) firstWritten(was, is *v1beta1.GenericJobStatus) {
	if is.FirstFailure == nil || is.FirstFailure.Follows == "" {
		return
	}
	for _, f := range is.Failures {
		known := slices.ContainsFunc(was.Failures, func(k v1beta1.ReplicaFailure) bool { return k.Pod == f.Pod && k.Time.Equal(f.Time) })
		if !known && f.Follows == "" {
			t.violated("a consequence stands for the cause", "%s, which says that %s, and %s has failed with %q", is.FirstFailure.Pod, is.FirstFailure.Follows, f.Pod, f.Exception)
		}
	}
}

// deletedUnread looks where a job has just failed, and all that is known of it followed from another's end. Nobody may delete a pod whose end may be
// the cause, before that is read. A view of pods may be old by some seconds.
func (t *truth) deletedUnread(o client.Object) {
	p, ok := o.(*corev1.Pod)
	if !ok || podstate.HasFinalizer(p) || !t.clockSet.IsZero() {
		return
	}
	job, _, r := t.of(p)
	if job == nil || job.Status.Phase != v1beta1.JobFailed || r.bare || !isCurrent(job, p) || auxiliary(job, p) {
		return
	}
	over, first := job.Status.CompletionTime.Time, job.Status.FirstFailure
	if t.isGuess(first, over) && runsSince(p, over.Add(-viewsAge)) {
		t.violated("the cause is thrown away", "%s runs, and %s", p.Name, first.Summary)
	}
}

// isGuess reports whether a first failure of a job that was just over then is only told as probable. Times have whole seconds: at a minute nobody
// knows.
func (t *truth) isGuess(first *v1beta1.FirstFailure, over time.Time) bool {
	return first != nil && first.Follows != "" && over.Sub(first.Time.Time) < time.Minute && t.life.now.Sub(over) < time.Minute
}

// runsSince reports whether a pod runs that began before a time.
func runsSince(p *corev1.Pod, at time.Time) bool {
	list, began := p.Status.ContainerStatuses, p.Status.StartTime
	return len(list) > 0 && list[0].State.Running != nil && began != nil && began.Time.Before(at)
}

// viewsAge is how old an operator's view of a pod is at most when it acts.
const viewsAge = 20 * time.Second
