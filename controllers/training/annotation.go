package training

import (
	"context"
	"fmt"
	"maps"
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

// reportUndone tells of an edit of the GenericJob that an update has undone, if there was one. The events are at the GenericJob, where the author of
// the edit looks, and at the training job, where the edit belongs. They come once, because the update has also set the annotation of what was
// compiled.
func (r *Reconciler) reportUndone(job client.Object, have *v1beta1.GenericJob) {
	if _, ok := framework.IsEditedByOthers(have); !ok {
		return
	}
	e := []kernel.Event{{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: fmt.Sprintf(
		"Somebody edited the spec of GenericJob %s/%s (generation %d), which is compiled from %s %s: the operator has undone that. Edit %s %s instead.",
		have.Namespace, have.Name, have.Generation, r.Kind.Kind, job.GetName(), r.Kind.Kind, job.GetName())}}
	announce.Events(r.Recorder, have, e)
	announce.Events(r.Recorder, job, e)
}

// annotateCompiled annotates a GenericJob that is as compiled with its generation and its numbers of replicas. They may be missing because an earlier
// version of the operator made it. They may be of a later generation because the apiserver took an update for none. The job runs without them, too, so
// only a conflict is an error.
func (r *Reconciler) annotateCompiled(ctx context.Context, job client.Object, have *v1beta1.GenericJob, elastic bool) error {
	next, now, memory := have.DeepCopy(), r.Clock.Now(), r.Memory.Of(job)
	framework.AnnotateCompiled(next, have.Generation, elastic)
	if maps.Equal(next.Annotations, have.Annotations) {
		memory.annotation = refusedAnnotation{}
		return nil
	}
	if memory.annotation.isRecent(have, now) {
		return nil
	}
	err := r.Client.Update(ctx, next)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("annotate GenericJob %s/%s: %w", have.Namespace, have.Name, err)
	}
	if client.IgnoreNotFound(err) != nil && ctx.Err() == nil {
		memory.annotation = refusedAnnotation{have.UID, now}
		logf.FromContext(ctx).V(1).Info("the annotation of what was compiled is refused", "error", err.Error())
	}
	return nil
}

// annotationRefusedFor is how long the operator waits before it writes an annotation again that the apiserver has refused.
const annotationRefusedFor = time.Minute

// refusedAnnotation is when the annotation of a GenericJob was refused.
type refusedAnnotation struct {
	uid types.UID
	at  time.Time
}

// isRecent reports whether the annotation of a GenericJob was refused less than annotationRefusedFor ago. It is false if the clock was set back.
func (m refusedAnnotation) isRecent(job *v1beta1.GenericJob, now time.Time) bool {
	return m.uid == job.UID && !now.Before(m.at) && now.Sub(m.at) < annotationRefusedFor
}
