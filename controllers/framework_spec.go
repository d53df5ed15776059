package controllers

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// setDefaults writes what the kind's Default fills in, and says whether it did: that leads to the next pass.
func (r *Framework) setDefaults(ctx context.Context, job client.Object) (bool, error) {
	if r.Default == nil || r.finished(job) {
		return false, nil
	}
	before := job.DeepCopyObject().(client.Object)
	if !r.Default(job) {
		return false, nil
	}
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

// untilPaused is the program as far as a GenericJob that has begun can take it over before it is paused. The kinds of training jobs
// keep their users from changing the rest, as long as these jobs run: what differs nevertheless comes from another version of the
// operator, which compiles otherwise, and is no reason to stop anything.
func untilPaused(have *v1beta1.GenericJob, program framework.Program) framework.Program {
	if phase := have.Status.Phase; phase == "" || phase == v1beta1.JobPaused {
		return program
	}
	wanted := program.Spec
	kept := *wanted.DeepCopy()
	kept.ReplicaSpecs = nil
	for i := range have.Spec.ReplicaSpecs {
		r := have.Spec.ReplicaSpecs[i].DeepCopy()
		if at := slices.IndexFunc(wanted.ReplicaSpecs, func(w v1beta1.ReplicaSpec) bool { return w.Type == r.Type }); at >= 0 {
			r.Replicas = wanted.ReplicaSpecs[at].Replicas
		}
		kept.ReplicaSpecs = append(kept.ReplicaSpecs, *r)
	}
	kept.Service, kept.Scheduler, kept.RestartScope, kept.PodNames = have.Spec.Service, have.Spec.Scheduler, have.Spec.RestartScope, have.Spec.PodNames
	kept.SuccessRules, kept.FailureRules = have.Spec.SuccessRules, have.Spec.FailureRules
	if !equality.Semantic.DeepEqual(kept, wanted) {
		program.Spec, program.Data, program.Warnings = kept, nil, nil // what stands there was compiled and told before
	}
	return program
}
