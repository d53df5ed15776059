package gitops

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/states"
)

// A tool may look at an object before the operator does.
func TestANewObjectIsNotDone(t *testing.T) {
	for _, file := range []string{
		"crd/batch.tensorstack.dev_genericjobs.yaml", "crd/batch.tensorstack.dev_pytorchtrainingjobs.yaml", "crd/batch.tensorstack.dev_tensorflowtrainingjobs.yaml",
		"crd/batch.tensorstack.dev_trainingframeworks.yaml", "frameworks/jax/crd.yaml", "frameworks/mpi/crd.yaml", "frameworks/xgboost/crd.yaml",
	} {
		k := states.NewKind(t, file)
		u := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "new", "generation": int64(1)}}}
		is, _ := byKstatus(t, k.Read(t, u))
		require.Equal(t, "InProgress", is, file)
		health, _ := newArgoCD(t).health(t, u)
		require.Equal(t, "Progressing", health, file)
	}
}

// A definition has the same conditions as a job, in Kubernetes' own type.
func TestDefinitions(t *testing.T) {
	for _, tc := range []struct{ holds, is, health string }{
		{v1beta1.FrameworkReady, "Current", "Healthy"},
		{v1beta1.FrameworkReconciling, "InProgress", "Progressing"},
		{v1beta1.FrameworkStalled, "Failed", "Degraded"},
	} {
		f := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: "jax", Generation: 2}}
		f.Status.ObservedGeneration = 2
		f.Status.Conditions = []metav1.Condition{
			{Type: v1beta1.FrameworkServing, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonServing},
			{Type: v1beta1.FrameworkReady, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonInvalidDefinition},
		}
		if tc.holds == v1beta1.FrameworkReady {
			f.Status.Conditions[1].Status = metav1.ConditionTrue
		} else {
			f.Status.Conditions = append(f.Status.Conditions, metav1.Condition{Type: tc.holds, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonInvalidDefinition, Message: "spec.phase is missing"})
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(f)
		require.NoError(t, err)
		u := &unstructured.Unstructured{Object: content}
		u.SetGroupVersionKind(v1beta1.GroupVersion.WithKind("TrainingFramework"))
		is, message := byKstatus(t, u)
		require.Equal(t, tc.is, is)
		health, told := newArgoCD(t).health(t, u)
		require.Equal(t, tc.health, health)
		if tc.holds != v1beta1.FrameworkReady {
			require.Equal(t, "spec.phase is missing", message)
			require.Equal(t, "spec.phase is missing", told)
		}
	}
}
