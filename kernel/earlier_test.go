package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// ofEarlierBuild gives a pod the labels and the order that earlier builds of the operator made.
func ofEarlierBuild(p *corev1.Pod) {
	delete(p.Labels, v1beta1.LabelModeGeneration)
	p.Labels[v1beta1.LabelOfEarlierBuilds] = "0"
	p.Annotations = map[string]string{inplace.Annotation: "attempt=0 go=0 epoch=0"}
}

// The CRD drops the fields that an earlier build has written under other names: their counts are lost, and nothing can be done exactly.
func TestAJobOfAnotherBuildIsLeftAlone(t *testing.T) {
	begun := func(edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
		job := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 3)), kt.Begun)
		for _, edit := range edits {
			edit(job)
		}
		return job
	}
	version := func(n int32) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) { job.Status.LedgerVersion = n }
	}
	finished := func(job *v1beta1.GenericJob) {
		job.Status.Phase, job.Status.CompletionTime = v1beta1.JobSucceeded, &metav1.Time{Time: kt.Start}
		job.Spec.TTLSecondsAfterFinished = new(int32(1))
	}
	none := kt.Job(kt.Type("worker", 2))
	tests := map[string]struct {
		job     *v1beta1.GenericJob
		pods    []*corev1.Pod
		phase   v1beta1.JobPhase
		problem string
	}{
		"its status has no version":        {begun(version(0)), kt.Pods(none, "worker", 2, kt.Exited(1)), v1beta1.JobUnknown, "status.ledgerVersion is 0"},
		"... and it has no pods":           {begun(version(0)), nil, v1beta1.JobUnknown, "status.ledgerVersion is 0"},
		"... and it has finished":          {begun(version(0), finished), kt.Pods(none, "worker", 2, kt.Exited(0)), v1beta1.JobSucceeded, "status.ledgerVersion is 0"},
		"a later build has written it":     {begun(version(2)), kt.Pods(none, "worker", 2, kt.Exited(1)), v1beta1.JobUnknown, "status.ledgerVersion is 2"},
		"its pods are of an earlier build": {begun(), kt.Pods(none, "worker", 2, kt.Running, ofEarlierBuild), v1beta1.JobUnknown, "-worker-0] was made by an earlier build"},
		"... and it has no status":         {none, kt.Pods(none, "worker", 2, kt.Exited(1), ofEarlierBuild), v1beta1.JobUnknown, "-worker-0] was made by an earlier build"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.At(time.Hour), tc.pods...)
			require.Empty(t, did(d))
			require.Equal(t, tc.phase, d.Status.Phase)
			require.Equal(t, tc.job.Status.Ledger, d.Status.Ledger)
			blocked := condition(d.Status, v1beta1.ConditionBlocked)
			require.Equal(t, v1beta1.ReasonLedgerUnreadable, blocked.Reason)
			require.Contains(t, blocked.Message, tc.problem)
			require.Contains(t, blocked.Message, "delete it and create it again")
			require.Len(t, d.Events, 1)
			require.Equal(t, blocked.Message, d.Events[0].Message)

			told := after(tc.job, d)
			again := plan(t, told, kt.At(2*time.Hour), tc.pods...)
			require.Empty(t, did(again))
			require.Equal(t, told.Status, again.Status, "it is told once")

			deleted := told.DeepCopy()
			deleted.DeletionTimestamp = &metav1.Time{Time: kt.At(2 * time.Hour)}
			require.Len(t, did(plan(t, deleted, kt.At(2*time.Hour), tc.pods...)), len(tc.pods), "a job that is being deleted is let go")
		})
	}
}

// A backup is restored without its status, and a new name of a label is no reason to keep it from starting.
func TestAJobWithoutAStatusBeginsAnew(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2))
	require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod worker-1@0"}, did(plan(t, job, kt.Start)))
	job = after(job, plan(t, job, kt.Start, kt.Pods(job, "worker", 2, kt.Running, ofEarlierBuild)...))
	require.Equal(t, v1beta1.JobRunning, plan(t, job, kt.At(time.Minute), kt.Pods(job, "worker", 2, kt.Running)...).Status.Phase, "those pods are gone")
}
