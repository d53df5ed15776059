package tree

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// What the operator says of a job that runs is told only if something is the matter, in whatever words it says it.
func TestWhatIsToldOfAJobThatRuns(t *testing.T) {
	const words = "some words."
	for name, tc := range map[string]struct {
		edit func(*v1beta1.GenericJob, *corev1.Pod)
		want string
	}{
		"all run":       {func(*v1beta1.GenericJob, *corev1.Pod) {}, ""},
		"in debug mode": {func(job *v1beta1.GenericJob, _ *corev1.Pod) { job.Status.Mode = spec.ModeDebug + "-x" }, words},
		"one has failed": {func(job *v1beta1.GenericJob, _ *corev1.Pod) {
			job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Failed: "1"}}
		}, words},
		"one has succeeded": {func(job *v1beta1.GenericJob, _ *corev1.Pod) {
			job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "1"}}
		}, ""},
		"a node is not there":  {func(_ *v1beta1.GenericJob, pod *corev1.Pod) { lose(pod) }, words},
		"not all run any more": {func(job *v1beta1.GenericJob, _ *corev1.Pod) { job.Status.Conditions[0].Status = metav1.ConditionFalse }, words},
	} {
		t.Run(name, func(t *testing.T) {
			job := kerneltest.Job(kerneltest.Type("worker", 2), kerneltest.Begun)
			job.Status.Phase = v1beta1.JobRunning
			job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue, Message: words}}
			pod := kerneltest.Pod(job, "worker", 0, kerneltest.Scheduled, kerneltest.Running)
			tc.edit(job, pod)
			f := jobs.NewFamily(jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), job, job, []corev1.Pod{*pod})
			require.Equal(t, tc.want, Of(f, kerneltest.At(time.Hour)).Why)
		})
	}
}

// lose has the node of a pod be silent.
func lose(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(kerneltest.At(time.Minute))})
}
