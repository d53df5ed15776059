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

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// update replaces the spec of the GenericJob, under its resourceVersion. The CEL rules of GenericJob say what may change while it runs. A change that
// the apiserver refuses waits for a pause.
func (r *Reconciler) update(ctx context.Context, job client.Object, have *v1beta1.GenericJob, program framework.Program) (showing, error) {
	want, elastic := have.DeepCopy(), program.Elastic
	if _, edited := framework.IsEditedByOthers(have); program.Spec.RunMode.Pauses() && !have.Spec.RunMode.Pauses() && !edited {
		// What else has changed waits for the pause, or the apiserver would refuse the pause along with it. What others have edited must not stay.
		want.Spec.RunMode = program.Spec.RunMode
		_, elastic = framework.WithCompiledReplicas(have)
	} else {
		if err := r.ensureData(ctx, job, program.Data); err != nil {
			return r.showRefusal(ctx, job, have, err)
		}
		if err := r.ensureKeysAgain(ctx, job, have, program); err != nil {
			return r.showRefusal(ctx, job, have, err)
		}
		want.Spec = program.Spec
	}
	framework.AnnotateCompiled(want, have.Generation+1, elastic)
	err := r.Client.Update(ctx, want)
	switch {
	case err == nil:
		r.reportUndone(job, have)
		r.warn(ctx, job, program)
		return r.mirrorOf(job, have, false), nil
	case calls.Outdated(err):
		return r.outdated(err), nil
	case calls.Invalid(err), calls.TooLarge(err):
		return r.updateAllowed(ctx, job, have, program, err)
	default:
		return r.showRefusal(ctx, job, have, calls.Explain(fmt.Sprintf("update GenericJob %s/%s", have.Namespace, have.Name), err))
	}
}

// outdated shows nothing: the GenericJob is no longer what the update was made from.
func (r *Reconciler) outdated(err error) showing {
	if apierrors.IsConflict(err) {
		r.Counts.CountStopped(r.Kind, metrics.ByConflict)
	}
	return showing{requeueAfter: calls.RetrySoon}
}

// errCompiledOtherwise says why a GenericJob keeps what an operator of another version has compiled.
var errCompiledOtherwise = errors.New("an operator of another version has compiled the job otherwise, and its code may have started: " +
	"what has changed waits until the job is paused or edited")

// isCompiledOtherwise reports whether another version of the operator has compiled a GenericJob to something else. It differs from what is compiled
// now, though nobody has edited it or its job. Such a job must not be updated. As long as its status says that no code has started, the apiserver
// lets templates change. But while the operator was replaced, code may have started that the status does not tell yet.
func isCompiledOtherwise(job client.Object, have *v1beta1.GenericJob) bool {
	if _, edited := framework.IsEditedByOthers(have); edited || have.Status.UnstartedSpec == "" || have.Status.Phase == v1beta1.JobPaused {
		return false
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	observed, _, _ := unstructured.NestedInt64(content, "status", "observedGeneration")
	return err == nil && observed == job.GetGeneration()
}

// updateAllowed updates what a running GenericJob may change, after the whole update was refused or would have been wrong. So a change that has to
// wait for a pause does not keep a job from being scaled. The job is blocked until the rest can be updated, too.
func (r *Reconciler) updateAllowed(ctx context.Context, job client.Object, have *v1beta1.GenericJob, program framework.Program, refused error) (showing, error) {
	want := have.DeepCopy()
	compiled, elastic := framework.WithCompiledReplicas(have)
	program.Elastic = program.Elastic && elastic // the code of a job that is to become elastic runs with its numbers until the pause
	want.Spec = untilPaused(compiled, program)
	if !equality.Semantic.DeepEqual(want.Spec, have.Spec) {
		framework.AnnotateCompiled(want, have.Generation+1, elastic)
		switch err := r.Client.Update(ctx, want); {
		case err == nil:
			r.reportUndone(job, have)
		case calls.Outdated(err):
			return r.outdated(err), nil
		case !calls.Invalid(err) && !calls.TooLarge(err):
			return r.showRefusal(ctx, job, have, calls.Explain(fmt.Sprintf("update GenericJob %s/%s", have.Namespace, have.Name), err))
		}
	}
	return r.block(job, have, v1beta1.ReasonInvalidSpec, refused.Error()+". Until then the job goes on as it was."), nil
}

// untilPaused returns the compiled spec, with the present values of all fields that may change only while the job is paused.
func untilPaused(have *v1beta1.GenericJobSpec, program framework.Program) v1beta1.GenericJobSpec {
	wanted := &program.Spec
	kept := *wanted.DeepCopy()
	kept.ReplicaSpecs = nil
	if !program.Elastic {
		kept.Replicas = have.Replicas
	}
	for i := range have.ReplicaSpecs {
		r := have.ReplicaSpecs[i].DeepCopy()
		if at := slices.IndexFunc(wanted.ReplicaSpecs, func(w v1beta1.ReplicaSpec) bool { return w.Type == r.Type }); at >= 0 {
			r.StartPolicy = wanted.ReplicaSpecs[at].StartPolicy
			if program.Elastic {
				r.Replicas = wanted.ReplicaSpecs[at].Replicas
			}
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
