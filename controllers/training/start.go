package training

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// handleUnstarted handles a job that has no GenericJob: it fails, is blocked, or starts.
func (r *Reconciler) handleUnstarted(ctx context.Context, job client.Object, program framework.Program, invalid error) (showing, error) {
	switch {
	case invalid != nil:
		return r.failUnlessRunning(ctx, job, invalid)
	case isPrebuilt(job, program):
		return r.blockPrebuilt(job), nil
	default:
		return r.createGenericJob(ctx, job, program)
	}
}

// createGenericJob creates the GenericJob. The fence comes first: the job may have finished without the cache showing it yet, and its GenericJob may
// have been deleted. Such a job must not run again.
func (r *Reconciler) createGenericJob(ctx context.Context, job client.Object, program framework.Program) (showing, error) {
	current, err := r.owner(job).IsCurrent(ctx)
	if err == nil && !current {
		r.Counts.CountStopped(r.Kind, metrics.ByFence)
	}
	if err != nil || !current {
		return showing{requeueAfter: calls.RetrySoon}, err
	}
	if err := r.ensureData(ctx, job, program.Data); err != nil {
		return r.showRefusal(ctx, job, nil, err)
	}
	if err := r.ensureKeys(ctx, job, program.SSHKeys); err != nil {
		return r.showRefusal(ctx, job, nil, err)
	}
	made := &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.GetNamespace(), Name: job.GetName(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, r.Kind)},
		},
		Spec: program.Spec,
	}
	framework.AnnotateCompiled(made, 1, program.Elastic)
	if r.Revision != "" {
		made.Annotations[v1beta1.AnnotationFrameworkRevision] = r.Revision
	}
	if err := r.owner(job).Create(ctx, fmt.Sprintf("create GenericJob %s/%s", made.Namespace, made.Name), made); err != nil {
		return r.showRefusal(ctx, job, nil, err)
	}
	r.warn(ctx, job, program)
	return r.mirrorOf(job, made, false), nil
}

// isPrebuilt reports whether a job with a Kueue queue names a Workload that somebody else has made for it. The operator uses no such Workload: see
// spec.PrebuiltMessage.
func isPrebuilt(job client.Object, program framework.Program) bool {
	return program.Spec.Scheduler != nil && program.Spec.Scheduler.Kueue != nil && spec.Prebuilt(job) != ""
}

func (r *Reconciler) blockPrebuilt(job client.Object) showing {
	return r.block(job, nil, v1beta1.ReasonInvalidSpec, spec.PrebuiltMessage(spec.Prebuilt(job)))
}
