package training

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// setDefaults writes what the kind's Default fills in, and reports whether it did: that leads to the next reconcile.
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

// errCompiledOtherwise is why a GenericJob keeps what an operator of another version has compiled.
var errCompiledOtherwise = errors.New("an operator of another version has compiled the job otherwise, and its code may have started: " +
	"what has changed waits until the job is paused or edited")

// isCompiledOtherwise reports whether a GenericJob differs from what is compiled though nobody has edited it or its job. The apiserver lets
// its templates change as long as its status knows of no code that has started. While operators were replaced nobody has looked, so code
// may run of which the status does not know.
func isCompiledOtherwise(job client.Object, have *v1beta1.GenericJob) bool {
	if _, edited := framework.IsEditedByOthers(have); edited || have.Status.UnstartedSpec == "" || have.Status.Phase == v1beta1.JobPaused {
		return false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	observed, _, _ := unstructured.NestedInt64(content, "status", "observedGeneration")
	return err == nil && observed == job.GetGeneration()
}

// updateRest does what can be done of an update that was refused. A change that has to wait for a pause must not keep a job from being
// scaled. An operator of another version may compile a job otherwise, too, in which nobody has changed anything.
func (r *Reconciler) updateRest(ctx context.Context, job client.Object, have *v1beta1.GenericJob, program framework.Program, refused error) (outcome, error) {
	want := have.DeepCopy()
	want.Spec = untilPaused(&have.Spec, program)
	if !equality.Semantic.DeepEqual(want.Spec, have.Spec) {
		framework.AnnotateCompiled(want, have.Generation+1)
		switch err := r.Client.Update(ctx, want); {
		case err == nil:
			r.tellUndone(job, have)
		case calls.Outdated(err):
			return outcome{retry: calls.LookAgain}, nil
		case !calls.Invalid(err) && !calls.TooLarge(err):
			return r.refusal(ctx, job, have, calls.Explain(fmt.Sprintf("update GenericJob %s/%s", have.Namespace, have.Name), err))
		}
	}
	return r.block(job, have, v1beta1.ReasonInvalidSpec, refused.Error()+". Until then the job goes on as it was."), nil
}

// untilPaused is the wanted spec as far as a GenericJob that has begun can take it over before it is paused.
func untilPaused(have *v1beta1.GenericJobSpec, program framework.Program) v1beta1.GenericJobSpec {
	wanted := &program.Spec
	kept := *wanted.DeepCopy()
	kept.ReplicaSpecs = nil
	for i := range have.ReplicaSpecs {
		r := have.ReplicaSpecs[i].DeepCopy()
		if at := slices.IndexFunc(wanted.ReplicaSpecs, func(w v1beta1.ReplicaSpec) bool { return w.Type == r.Type }); at >= 0 && program.Elastic {
			r.Replicas = wanted.ReplicaSpecs[at].Replicas
		}
		kept.ReplicaSpecs = append(kept.ReplicaSpecs, *r)
	}
	kept.Service, kept.Scheduler, kept.PodNames = have.Service, have.Scheduler, have.PodNames
	kept.RestartScope, kept.RestartStrategy, kept.Heartbeat, kept.NodeLost = have.RestartScope, have.RestartStrategy, have.Heartbeat, have.NodeLost
	kept.Progress = have.Progress
	kept.SuccessRules, kept.FailureRules = have.SuccessRules, have.FailureRules
	if kept.RestartScope != v1beta1.RestartScopeJob {
		kept.StopTogether = false // the CRD takes it with that scope alone, which has to wait for the pause
	}
	if p := kept.FailurePolicy; p != nil && p.NoProgress != nil && kept.Progress == nil && spec.StepLine(&kept) == nil {
		p.NoProgress = nil // likewise
		if len(p.Rules) == 0 {
			kept.FailurePolicy = nil
		}
	}
	return kept
}
