package kubeflow

import (
	"cmp"
	"math"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// The exit codes that policy ExitCode retries: those of programs that a signal ended, and all above.
const (
	firstRetried = 128
	lastRetried  = 255
)

// Members of rank lists.
var (
	anyRank   = intstr.FromString(v1beta1.AnyRank)
	firstRank = intstr.FromInt32(0)
)

// newProgram returns a program with what the run policy decides. In older manifests the fields of runPolicy stand in the spec itself (inline). They
// count where runPolicy has no value.
func newProgram(p *kubeflow.RunPolicy, inline *kubeflow.InlineRunPolicy) framework.Program {
	if p.ManagedBy.IsForeign() {
		return framework.Program{Foreign: true}
	}
	program := framework.Program{Spec: v1beta1.GenericJobSpec{
		PodNames:              v1beta1.PodNamesPlain,
		ActiveDeadlineSeconds: firstSet(p.ActiveDeadlineSeconds, inline.ActiveDeadlineSeconds),
		BackoffLimit:          firstSet(p.BackoffLimit, inline.BackoffLimit),
		CleanUpPolicy:         cleanUp(p, inline),
	}, TTLSecondsAfterFinished: firstSet(p.TTLSecondsAfterFinished, inline.TTLSecondsAfterFinished)}
	if d := program.Spec.ActiveDeadlineSeconds; d != nil {
		*d = max(*d, 1) // a GenericJob has no 0
	}
	if program.Spec.BackoffLimit == nil {
		program.Spec.BackoffLimit = ptr.To[int32](math.MaxInt32)
	}
	if ptr.Deref(p.Suspend, false) {
		program.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	}
	if s := p.SchedulingPolicy; s != nil && (s.MinAvailable != nil || s.Queue != "" || len(s.MinResources) > 0 || s.ScheduleTimeoutSeconds != nil) {
		program.Warnings = append(program.Warnings, framework.Warning{Reason: policyIgnored, Message: "spec.runPolicy.schedulingPolicy: only priorityClass has an effect, and that with Kueue: pods are placed one by one. Remove the other fields, or queue the job with Kueue to have it start as a whole; or have an admin start the operator with --gang-scheduler-name."})
	}
	return program
}

// firstSet returns a copy of the first value that is set; nil if none is.
func firstSet[T any](first, second *T) *T {
	first = cmp.Or(first, second)
	if first == nil {
		return nil
	}
	return ptr.To(*first)
}

func cleanUp(p *kubeflow.RunPolicy, inline *kubeflow.InlineRunPolicy) v1beta1.CleanUpPolicy {
	switch cmp.Or(p.CleanPodPolicy, inline.CleanPodPolicy) {
	case kubeflow.CleanPodsAll:
		return v1beta1.CleanUpAll
	case kubeflow.CleanPodsRunning:
		return v1beta1.CleanUpUnfinished
	default:
		return v1beta1.CleanUpNone
	}
}

// cleansUp reports whether replicas that still run are deleted at the job's end.
func cleansUp(p *kubeflow.RunPolicy, inline *kubeflow.InlineRunPolicy) bool {
	return cleanUp(p, inline) != v1beta1.CleanUpNone
}

// restartPolicy returns the restart policy of the GenericJob's replicas. It has no limit: backoffLimit, which all replicas share, bounds the restarts.
func (k *kind) restartPolicy(p kubeflow.RestartPolicy) *v1beta1.RestartPolicy {
	switch cmp.Or(p, k.restart) {
	case kubeflow.RestartAlways:
		return &v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways}
	case kubeflow.RestartNever:
		return &v1beta1.RestartPolicy{Policy: v1beta1.RestartNever}
	case kubeflow.RestartExitCode:
		policy := &v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode}
		for code := int32(firstRetried); code <= lastRetried; code++ {
			policy.ExitCodes = append(policy.ExitCodes, code)
		}
		return policy
	default:
		return &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure}
	}
}
