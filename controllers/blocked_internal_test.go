package controllers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/translators/definition"
)

// What blocks is read from a status of any shape that a kind of training jobs has.
func TestWhatBlocksATrainingJob(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	ours := func(is metav1.ConditionStatus) v1beta1.TrainingJobStatus {
		return v1beta1.TrainingJobStatus{Conditions: []v1beta1.JobCondition{
			{Type: v1beta1.ConditionRunning, Status: "True", Reason: "AllRunning"},
			{Type: v1beta1.ConditionBlocked, Status: is, Reason: v1beta1.ReasonInvalidSpec, LastTransitionTime: at},
		}}
	}
	theirs := func(is corev1.ConditionStatus) kubeflow.JobStatus {
		return kubeflow.JobStatus{Conditions: []kubeflow.JobCondition{
			{Type: kubeflow.JobRunning, Status: "True"},
			{Type: kubeflow.JobBlocked, Status: is, Reason: v1beta1.ReasonInvalidSpec, LastUpdateTime: at},
		}}
	}
	raw := func(text string) *definition.Job {
		return &definition.Job{Status: runtime.RawExtension{Raw: []byte(text)}}
	}
	const shown = `{"conditions": [{"type": "Running", "status": "True"}, {"type": "Blocked", "status": "True", "reason": "InvalidSpec", "lastTransitionTime": "2026-01-01T12:00:00Z"}]}`
	for name, tc := range map[string]struct {
		job  client.Object
		want string
	}{
		"TensorFlow":               {&v1beta1.TensorFlowTrainingJob{Status: ours("True")}, v1beta1.ReasonInvalidSpec},
		"no longer":                {&v1beta1.TensorFlowTrainingJob{Status: ours("False")}, ""},
		"PyTorch":                  {&v1beta1.PyTorchTrainingJob{Status: v1beta1.PyTorchTrainingJobStatus{TrainingJobStatus: ours("True")}}, v1beta1.ReasonInvalidSpec},
		"without a status":         {&v1beta1.PyTorchTrainingJob{}, ""},
		"TFJob":                    {&kubeflow.TFJob{Status: theirs("True")}, v1beta1.ReasonInvalidSpec},
		"TFJob, no longer":         {&kubeflow.TFJob{Status: theirs("False")}, ""},
		"MPIJob":                   {&v2beta1.MPIJob{Status: theirs("True")}, v1beta1.ReasonInvalidSpec},
		"definition":               {raw(shown), v1beta1.ReasonInvalidSpec},
		"definition, new":          {raw(``), ""},
		"definition, another word": {raw(`{"conditions": "Blocked", "state": "Blocked"}`), ""},
		"no training job":          {&corev1.ConfigMap{}, ""},
	} {
		reason, since := blocked(tc.job)
		require.Equal(t, tc.want, reason, name)
		require.Equal(t, tc.want != "", since.Equal(at.Time), name)
	}
}

// The GenericJob's own reason is the first: who mends that does not mend the edit.
func TestATrainingJobWaitsForOneThing(t *testing.T) {
	edited := &v1beta1.TensorFlowTrainingJob{}
	edited.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionBlocked, Status: "True", Reason: v1beta1.ReasonInvalidSpec}}
	odd := edited.DeepCopy()
	odd.Status.Conditions[0].Reason = "written by somebody"
	ending := edited.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	runs, refused, over := &v1beta1.GenericJob{}, &v1beta1.GenericJob{}, &v1beta1.GenericJob{}
	runs.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: "True"}}
	refused.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionBlocked, Status: "True", Reason: v1beta1.ReasonCreateFailed}}
	over.Status.CompletionTime = &metav1.Time{Time: time.Now()}
	for name, tc := range map[string]struct {
		job  client.Object
		gj   *v1beta1.GenericJob
		want string
	}{
		"it runs, and nothing is in the way": {&v1beta1.TensorFlowTrainingJob{}, runs, ""},
		"an edit waits":                      {edited, runs, v1beta1.ReasonInvalidSpec},
		"the GenericJob is blocked, too":     {edited, refused, v1beta1.ReasonCreateFailed},
		"it is over":                         {edited, over, ""},
		"it is being deleted":                {ending, runs, ""},
		"a reason that is no label":          {odd, runs, "Other"},
	} {
		require.Equal(t, tc.want, ofTraining(jobOf("TFJob", v1beta1.JobRunning, tc.gj), tc.job, tc.gj).Reason, name)
	}
	require.Equal(t, metrics.Job{}, ofTraining(metrics.Job{}, &corev1.ConfigMap{}, runs))
}
