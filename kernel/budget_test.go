package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// chiefOnce is a job that starts over as a whole, and whose chief must not be run again.
func chiefOnce(options ...kt.JobOption) *v1beta1.GenericJob {
	return kt.Job(append([]kt.JobOption{
		kt.Type("chief", 1, kt.Policy(never, -1)), kt.Type("worker", 2, kt.Policy(onFailure, 3)), kt.JobScope, kt.Begun}, options...)...)
}

// podThatFailed is a pod whose code has failed so long after the start.
func podThatFailed(job *v1beta1.GenericJob, replicaType string, rank int, after time.Duration) *corev1.Pod {
	return kt.Pod(job, replicaType, rank, kt.ExitedAt(1, kt.Start.Add(after)))
}

func TestAFailureUnderNeverThatCameFirstIsFinalWhoeverElseMayRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		chief, worker time.Duration
		fails         bool
	}{
		"the chief fails first":       {time.Minute, time.Minute + time.Second, true},
		"the chief fails long before": {time.Minute, time.Hour, true},
		"the worker fails first":      {time.Minute + time.Second, time.Minute, false},
		"nobody can tell":             {time.Minute, time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := chiefOnce()
			d := plan(t, job, kt.At(2*time.Hour), podThatFailed(job, "chief", 0, tc.chief), podThatFailed(job, "worker", 0, tc.worker), kt.Pod(job, "worker", 1, kt.Running))
			if tc.fails {
				require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
				require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "restart policy Never does not restart it")
				require.Zero(t, d.Status.BackoffCount, "a job that fails makes no restart")
				return
			}
			require.NotEqual(t, v1beta1.JobFailed, d.Status.Phase)
			require.EqualValues(t, 1, d.Status.BackoffCount)
			require.EqualValues(t, 1, d.Status.JobAttempt, "all start over, the chief too")
		})
	}
}

// TestTwoEndsInOneReconcileEndAsInTwo: how many are seen at once depends on how busy the operator is.
func TestTwoEndsInOneReconcileEndAsInTwo(t *testing.T) {
	chief := func(j *v1beta1.GenericJob) *corev1.Pod { return podThatFailed(j, "chief", 0, time.Minute) }
	worker := func(j *v1beta1.GenericJob) *corev1.Pod { return podThatFailed(j, "worker", 0, 2*time.Minute) }
	runs := func(j *v1beta1.GenericJob, replicaType string, rank int) *corev1.Pod {
		return kt.Pod(j, replicaType, rank, kt.Running)
	}
	for name, options := range map[string][]kt.JobOption{
		"the chief's failure ends the job": {},
		"the job goes on without it":       {success(v1beta1.FinishRule{"worker": ranks(0, 1)}), failure(v1beta1.FinishRule{"worker": ranks(0)})},
	} {
		t.Run(name, func(t *testing.T) {
			job := chiefOnce(options...)
			job = after(job, plan(t, job, kt.At(time.Second), runs(job, "chief", 0), runs(job, "worker", 0), runs(job, "worker", 1)))
			one := plan(t, job, kt.At(time.Hour), chief(job), worker(job), runs(job, "worker", 1))

			first := after(job, plan(t, job, kt.At(90*time.Second), chief(job), runs(job, "worker", 0), runs(job, "worker", 1)))
			two := plan(t, first, kt.At(time.Hour), chief(job), worker(job), runs(job, "worker", 1))
			require.Equal(t, two.Status.Phase, one.Status.Phase)
			require.Equal(t, two.Status.BackoffCount, one.Status.BackoffCount)
			require.Equal(t, two.Status.JobAttempt, one.Status.JobAttempt)
			require.Equal(t, "0", ledger(one.Status, "chief").Failed)
			require.Equal(t, ledger(two.Status, "chief").Failed, ledger(one.Status, "chief").Failed)
		})
	}
}

// Beside Never: a rank whose own limit is spent, and codes that ExitCode does not list.
func TestARefusedEndThatCameFirstIsFinalWhateverRefusesIt(t *testing.T) {
	for name, policy := range map[string]func(*v1beta1.ReplicaSpec){
		"its limit is 0":                kt.Policy(onFailure, 0),
		"its exit code is not retried":  kt.Policy(exitCode, 3),
		"its policy is Always, limit 0": kt.Policy(always, 0),
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("chief", 1, policy), kt.Type("worker", 1, kt.Policy(onFailure, 3)), kt.JobScope, kt.Begun)
			d := plan(t, job, kt.At(time.Hour), podThatFailed(job, "chief", 0, time.Minute), podThatFailed(job, "worker", 0, 2*time.Minute))
			require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
			d = plan(t, job, kt.At(time.Hour), podThatFailed(job, "chief", 0, 2*time.Minute), podThatFailed(job, "worker", 0, time.Minute))
			require.EqualValues(t, 1, d.Status.JobAttempt)
		})
	}
}
