package jobs

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Defined returns a kind that a TrainingFramework defines, or that some other operator of this kind serves. Of its jobs no more is known than
// that a GenericJob belongs to each, and that most have the status of a training job. Users may not read TrainingFrameworks.
func Defined(kind schema.GroupVersionKind) *Kind {
	name := strings.ToLower(kind.Kind)
	return &Kind{GroupVersionKind: kind, names: []string{name}, Framework: &framework.Registration{
		New: func() client.Object {
			job := &unstructured.Unstructured{}
			job.SetGroupVersionKind(kind)
			return job
		},
		Phase: func(o client.Object) v1beta1.JobPhase { return phaseOf(o.(*unstructured.Unstructured)) },
		Compile: func(client.Object) (framework.Program, error) {
			return framework.Program{}, errors.New("only the operator can compile it")
		},
	}}
}

// IsDefined reports whether no more is known of the kind than Defined says.
func (f *Family) IsDefined() bool {
	_, ok := f.Job.(*unstructured.Unstructured)
	return ok
}

// mayBeJob reports whether a kind can be one of jobs: those of Kubernetes cannot.
func mayBeJob(kind schema.GroupVersionKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// phaseOf returns the phase that a job shows. It reads a status of a training job's shape, or the conditions of one of Kubeflow's. Of
// another shape it returns "".
func phaseOf(job *unstructured.Unstructured) v1beta1.JobPhase {
	if phase := shown(job).Phase; slices.Contains(v1beta1.JobPhases(), phase) {
		return phase
	}
	for _, c := range kubeflowConditions(job) {
		if c.Status == corev1.ConditionTrue && (c.Type == kubeflow.JobFailed || c.Type == kubeflow.JobSucceeded) {
			return v1beta1.JobPhase(c.Type)
		}
	}
	return ""
}

// shown returns a job's status, as far as it has a training job's shape.
func shown(job *unstructured.Unstructured) *v1beta1.TrainingJobStatus {
	s := &v1beta1.TrainingJobStatus{}
	status, _, err := unstructured.NestedMap(job.Object, "status")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(status, s) != nil {
		return &v1beta1.TrainingJobStatus{}
	}
	return s
}

func kubeflowConditions(job *unstructured.Unstructured) []kubeflow.JobCondition {
	s := struct {
		Conditions []kubeflow.JobCondition `json:"conditions"`
	}{}
	status, _, err := unstructured.NestedMap(job.Object, "status")
	if err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(status, &s) != nil {
		return nil
	}
	return s.Conditions
}

// conditionsOf returns a job's conditions as a GenericJob's.
func conditionsOf(job *unstructured.Unstructured, theirs bool) []v1beta1.JobCondition {
	if theirs {
		return translated(job.GetKind(), kubeflowConditions(job))
	}
	return shown(job).Conditions
}

// isCurrent reports whether a job's status answers to its spec. One without observedGeneration does not say.
func isCurrent(job *unstructured.Unstructured) bool {
	at, says, err := unstructured.NestedInt64(job.Object, "status", "observedGeneration")
	return !says || err == nil && at == job.GetGeneration()
}
