package controllers

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// A GenericJob that a training job owns has the spec that was compiled. Whoever edits it has that undone. The edit must not act before:
// a pause of a moment would stop all pods, and no limit would count that. So the operator records the generation that it has written
// itself, and a reconcile that sees a higher one waits.

// compiled marks a GenericJob as compiled in a generation.
func compiled(job *v1beta1.GenericJob, generation int64) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, strconv.FormatInt(generation, 10))
}

// isEditedByOthers reports whether somebody else has changed the spec of a GenericJob since it was compiled in a generation.
func isEditedByOthers(job *v1beta1.GenericJob) (since int64, is bool) {
	n, err := strconv.ParseInt(job.Annotations[v1beta1.AnnotationCompiledGeneration], 10, 64)
	return n, err == nil && job.Generation > n && metav1.GetControllerOf(job) != nil
}

// undoneWithin is how long an edit waits to be undone. One that lasts cannot be: its definition is gone, or the training job cannot be
// compiled. Then it acts, or nothing would be booked any more.
const undoneWithin = 10 * time.Second

// strays remembers since when the specs of GenericJobs are not what was compiled. After a restart of the operator they wait anew.
type strays struct {
	mu   sync.Mutex
	jobs map[types.NamespacedName]stray
}

type stray struct {
	uid      types.UID
	compiled int64 // another generation that was compiled makes it another edit
	since    time.Time
}

// awaitUndo reports whether an edit of a GenericJob is about to be undone.
func (s *strays) awaitUndo(job *v1beta1.GenericJob, now time.Time) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(job)
	n, is := isEditedByOthers(job)
	if !is || job.DeletionTimestamp != nil || job.Status.CompletionTime != nil {
		delete(s.jobs, key)
		return false
	}
	have, known := s.jobs[key]
	if !known || have.uid != job.UID || have.compiled != n {
		if s.jobs == nil {
			s.jobs = map[types.NamespacedName]stray{}
		}
		have = stray{job.UID, n, now}
		s.jobs[key] = have
	}
	return now.Sub(have.since) < undoneWithin
}

// tellUndone tells of an edit that an update has undone, if there was one: where its author looks, and where he should have made it. It
// is told once, for the update has moved the mark, too.
func (r *Framework) tellUndone(job client.Object, have *v1beta1.GenericJob) {
	if _, is := isEditedByOthers(have); !is {
		return
	}
	e := []kernel.Event{{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: fmt.Sprintf(
		"Somebody edited the spec of GenericJob %s/%s (generation %d), which is compiled from %s %s: the operator has undone that. Edit %s %s instead.",
		have.Namespace, have.Name, have.Generation, r.Kind.Kind, job.GetName(), r.Kind.Kind, job.GetName())}}
	emit(r.Recorder, have, e)
	emit(r.Recorder, job, e)
}

// confirm records in a GenericJob which is as compiled that it is. An operator of an earlier version did not, or the apiserver
// stored an edit as none. The job runs without, too, so that nothing but a conflict is an error: its status must be shown, whatever the
// apiserver, a policy or a webhook answers.
func (r *Framework) confirm(ctx context.Context, have *v1beta1.GenericJob) error {
	next, now := have.DeepCopy(), r.Clock.Now()
	compiled(next, have.Generation)
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
