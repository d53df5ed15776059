package training

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/framework"
)

// tellUndone tells of an edit that an update has undone, if there was one: where its author looks, and where he should have made it. It
// is told once, for the update has moved the mark, too.
func (r *Reconciler) tellUndone(job client.Object, have *v1beta1.GenericJob) {
	if _, is := framework.IsEditedByOthers(have); !is {
		return
	}
	e := []kernel.Event{{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: fmt.Sprintf(
		"Somebody edited the spec of GenericJob %s/%s (generation %d), which is compiled from %s %s: the operator has undone that. Edit %s %s instead.",
		have.Namespace, have.Name, have.Generation, r.Kind.Kind, job.GetName(), r.Kind.Kind, job.GetName())}}
	announce.Events(r.Recorder, have, e)
	announce.Events(r.Recorder, job, e)
}

// confirm records in a GenericJob which is as compiled that it is. An operator of an earlier version did not, or the apiserver
// stored an edit as none. The job runs without, too, so that nothing but a conflict is an error: its status must be shown, whatever the
// apiserver, a policy or a webhook answers.
func (r *Reconciler) confirm(ctx context.Context, have *v1beta1.GenericJob) error {
	next, now := have.DeepCopy(), r.Clock.Now()
	framework.MarkCompiled(next, have.Generation)
	if next.Annotations[v1beta1.AnnotationCompiledGeneration] == have.Annotations[v1beta1.AnnotationCompiledGeneration] {
		r.marks.forget(client.ObjectKeyFromObject(have))
		return nil
	}
	if r.marks.isRefused(have, now) {
		return nil
	}
	err := r.Client.Update(ctx, next)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("annotate GenericJob %s/%s: %w", have.Namespace, have.Name, err)
	}
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		r.marks.refuse(have, now)
		logf.FromContext(ctx).V(1).Info("the mark of what was compiled is refused", "error", err.Error())
	}
	return nil
}

// markRefusedFor is for how long the mark of a GenericJob is not written again after the apiserver has refused it.
const markRefusedFor = time.Minute

// refusedMarks remembers when the marks of GenericJobs were refused last. After a restart of the operator each is tried once more. The
// zero value is ready for use.
type refusedMarks struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]refusedMark
}

type refusedMark struct {
	uid types.UID
	at  time.Time
}

// isRefused reports whether the mark of a GenericJob was refused a short while ago. If the clock was set back it was not.
func (m *refusedMarks) isRefused(job *v1beta1.GenericJob, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, is := m.jobs[client.ObjectKeyFromObject(job)]
	return is && last.uid == job.UID && !now.Before(last.at) && now.Sub(last.at) < markRefusedFor
}

// refuse notes that the mark of a GenericJob was refused.
func (m *refusedMarks) refuse(job *v1beta1.GenericJob, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.jobs == nil {
		m.jobs = map[types.NamespacedName]refusedMark{}
	}
	m.jobs[client.ObjectKeyFromObject(job)] = refusedMark{job.UID, now}
}

// forget forgets a job that is gone, or has its mark.
func (m *refusedMarks) forget(job types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.jobs, job)
}
