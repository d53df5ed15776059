package definitions

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/definition"
)

// named returns a definition by its name and UID, for events that come after it.
func named(d *v1beta1.TrainingFramework) *v1beta1.TrainingFramework {
	return &v1beta1.TrainingFramework{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindTrainingFramework},
		ObjectMeta: metav1.ObjectMeta{Name: d.Name, UID: d.UID},
	}
}

// reportRefused tells of an edit that is refused, once for each edit and reason.
func (r *Reconciler) reportRefused(ctx context.Context, before, d *v1beta1.TrainingFramework) {
	old := meta.FindStatusCondition(before.Status.Conditions, v1beta1.FrameworkAccepted)
	now := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkAccepted)
	if now == nil || now.Status != metav1.ConditionFalse || old != nil && old.Status == now.Status && old.Reason == now.Reason && old.ObservedGeneration == now.ObservedGeneration {
		return
	}
	list := []kernel.Event{{Warning: true, Reason: now.Reason, Message: now.Message, Attempt: int(d.Generation)}} // each edit has an event of its own
	announce.Warnings(ctx, list)
	announce.Events(r.Recorder, named(d), list)
}

// reportDeleted tells of a definition that is gone while jobs of its kind are not over, unless another follows it. The jobs hear of it themselves,
// too. Was is nil if the definition served no kind.
func (r *Reconciler) reportDeleted(ctx context.Context, was *servedKind) {
	if was == nil {
		return
	}
	n := was.unfinished()
	follows := r.filter(ctx, func(d *v1beta1.TrainingFramework) bool {
		return d.UID != was.definition.UID && d.DeletionTimestamp == nil && definition.KindOf(&d.Spec).GroupKind() == was.kind.GroupKind()
	})
	if n == 0 || len(follows) > 0 {
		return
	}
	list := []kernel.Event{{Warning: true, Reason: v1beta1.ReasonDefinitionDeleted, Message: fmt.Sprintf(
		"TrainingFramework %s is deleted, and %d jobs of kind %s are not over. They go on as GenericJobs, but what they show stands still, edits of them have no effect, "+
			"and none is deleted when its time is over. Apply the definition again, or delete the jobs.", was.definition.Name, n, was.kind.Kind)}}
	announce.Warnings(ctx, list)
	announce.Events(r.Recorder, was.definition, list)
}

// unfinished returns how many jobs of a kind are not over.
func (s *servedKind) unfinished() (n int) {
	informer, ok := s.jobs.(interface{ GetIndexer() toolscache.Indexer })
	if !ok {
		return 0
	}
	for _, o := range informer.GetIndexer().List() {
		job, ok := o.(client.Object)
		if !ok || job.GetDeletionTimestamp() != nil {
			continue
		}
		if !s.revised.Newest().Phase(job).IsFinal() {
			n++
		}
	}
	return n
}
