package training

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// setDefaults writes the defaults of the kind into the job, and reports whether this reconcile ends with that. The write leads to the next one.
func (r *Reconciler) setDefaults(ctx context.Context, job client.Object) (bool, error) {
	if r.Default == nil || r.finished(job) {
		return false, nil
	}
	fill := r.Default(job)
	if fill == nil {
		return false, nil
	}
	before := job.DeepCopyObject().(client.Object)
	fill(job)
	err := r.Client.Patch(ctx, job, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return true, nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err): // by a policy: the job runs without, too
		logf.FromContext(ctx).V(1).Info("defaults are refused", "error", err.Error())
		return false, nil
	default:
		return true, fmt.Errorf("write defaults of %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	}
}
