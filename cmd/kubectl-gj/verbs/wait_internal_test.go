package verbs

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// A job may run on as it was before an edit that cannot run. Who waits for the edit waits on.
func TestARefusedEditDoesNotRun(t *testing.T) {
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "train", Generation: 2}}
	job.Status.Phase, job.Status.ObservedGeneration = v1beta1.JobRunning, 2
	job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue}}
	f := jobs.NewFamily(jobs.Kinds()[0], job, nil, nil)
	require.True(t, goals["running"](f))
	job.Status.Conditions = append(job.Status.Conditions, v1beta1.JobCondition{Type: v1beta1.ConditionBlocked, Status: metav1.ConditionTrue, Reason: v1beta1.ReasonInvalidSpec})
	require.False(t, goals["running"](f))
	job.Status.Conditions[1].Reason = v1beta1.ReasonCreateFailed
	require.True(t, goals["running"](f), "the edit runs, and something else is refused")
}
