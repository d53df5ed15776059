package integrations

import (
	"encoding/json"
	"slices"
	"testing"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// statusOf is the status of a job as Kubeflow's Go client reads it.
func statusOf(t *testing.T, job *unstructured.Unstructured) kubeflow.JobStatus {
	t.Helper()
	text, err := json.Marshal(job.Object["status"])
	require.NoError(t, err)
	s := kubeflow.JobStatus{}
	require.NoError(t, json.Unmarshal(text, &s))
	return s
}

// byFlyte is the phase of a task, a while after something has happened. The rules are those of Flyte's plugins for Kubeflow's kinds, as their source
// has them. The newest condition that holds decides, and among those of one time the first. An error is what Flyte cannot read, and a job that has no
// startTime after a minute. It tries again, and gives the workflow up after some tries.
func byFlyte(t *testing.T, job *unstructured.Unstructured) string {
	t.Helper()
	s := statusOf(t, job)
	list := s.Conditions
	if s.StartTime == nil && len(list) > 0 {
		return "error"
	}
	slices.SortStableFunc(list, func(a, b kubeflow.JobCondition) int { return b.LastTransitionTime.Compare(a.LastTransitionTime.Time) })
	i := slices.IndexFunc(list, func(c kubeflow.JobCondition) bool { return c.Status == corev1.ConditionTrue })
	if i < 0 {
		return "Queued"
	}
	switch list[i].Type {
	case kubeflow.JobCreated:
		return "Queued"
	case kubeflow.JobRunning, kubeflow.JobRestarting:
		return "Running"
	case kubeflow.JobSucceeded:
		return "Succeeded"
	case kubeflow.JobFailed:
		return "Failed"
	default:
		return "error"
	}
}
