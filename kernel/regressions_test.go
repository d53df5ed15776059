package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Each test is named after a failure in the field, of kubeflow/trainer where no other project is named.

// A finished job lost its child and made it anew: its retry budget began again, without end.
func TestTrainer2981FinishedJobCreatesNothingWhenItsPodsAreDeleted(t *testing.T) {
	job := kt.Job(kt.BackoffLimit(1), kt.Type("worker", 2), kt.Begun)
	job = after(job, plan(t, job, kt.Start, kt.Pods(job, "worker", 2, kt.Exited(1))...))
	require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
	d := plan(t, job, kt.At(time.Hour))
	require.Empty(t, d.Actions)
	require.Equal(t, job.Status.BackoffCount, d.Status.BackoffCount)
}

// The end of a job was written, one deletion failed, and its pods ran on for ever.
func TestTrainer3833CleanUpIsAskedForUntilNothingIsLeft(t *testing.T) {
	job := kt.Job(cleanUp("All"), kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	pods := exits(job, map[string][]int32{"worker": {0, alive}})
	for range 5 { // deletions fail
		d := plan(t, job, kt.Start, pods...)
		require.Contains(t, did(d), "DeletePod worker-1")
		job = after(job, d)
	}
	require.NotContains(t, did(plan(t, job, kt.Start, pods[0])), "DeletePod worker-1")
}

// A worker that had succeeded was drained with its node and ran again.
func TestTrainer2454SucceededReplicaIsNotRunAgain(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	drained := kt.Pod(job, "worker", 0, kt.ExitedAt(0, kt.Start), kt.Deleted(kt.At(time.Minute), 0))
	d := plan(t, job, kt.At(2*time.Minute), drained, kt.Pod(job, "worker", 1, kt.Running))
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0"}, did(d), "its finalizer kept it until its success was noted")
	require.Empty(t, did(plan(t, after(job, d), kt.At(2*time.Minute), kt.Pod(job, "worker", 1, kt.Running))))
}

// With policy ExitCode a deleted pod, which exits with 137, failed the job.
func TestTrainer1560DeletedPodDoesNotFailTheJob(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(exitCode, 0)), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.ExitedAt(137, kt.At(31*time.Second)), kt.Deleted(kt.Start, 30*time.Second)))
	require.Nil(t, d.Status.CompletionTime)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.Zero(t, d.Status.BackoffCount)
}

// A running pod with a deletion timestamp counted as failed and failed the job.
func TestTrainer2124TerminatingIsNotFailed(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(never, -1)), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running, kt.Deleted(kt.Start, 30*time.Second)))
	require.Nil(t, d.Status.CompletionTime)
	require.Zero(t, d.Status.Aggregate.Failed)
	require.NotContains(t, strings.Join(did(d), ","), "Create")
}

// Creation got stuck while a pod of the same name was Terminating, until a timer ran out.
func TestTrainer1306ReplacementWaitsForTheOldPodAndNoTimer(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 1)), kt.Begun)
	old := kt.Pod(job, "worker", 0, kt.Exited(1))
	job = after(job, plan(t, job, kt.Start, old))
	kt.Released(old)
	kt.Deleted(kt.Start, 30*time.Second)(old)
	require.Empty(t, did(plan(t, job, kt.At(time.Second), old)))
	require.Equal(t, []string{"CreatePod worker-0@1"}, did(plan(t, job, kt.At(time.Second))), "at once when it is gone")
}

// The operator overwrote restartPolicy in the user's template.
func TestTrainer2200TheStoredTemplateIsNotEdited(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) { p.Spec.RestartPolicy = corev1.RestartPolicyAlways })), kt.Begun)
	before := job.DeepCopy()
	require.Equal(t, corev1.RestartPolicyNever, kt.Pod(job, "worker", 0).Spec.RestartPolicy)
	require.Equal(t, before, job)
}

// kubeflow B16: backoffLimit N failed the job at N restarts.
func TestKubeflowB16BackoffLimitAllowsExactlyN(t *testing.T) {
	restarts, _ := live(t, kt.Job(kt.BackoffLimit(3), kt.Type("worker", 1), kt.Begun), 1)
	require.Equal(t, 3, restarts)
}

// kubeflow B8: scaling to 0 made a running job Succeeded for ever.
func TestKubeflowB8ScaledToNothingIsNotSuccess(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1))
	d := plan(t, kt.Edited(job, kt.Replicas("worker", 0)), kt.At(time.Minute), pods...)
	require.NotEqual(t, v1beta1.JobSucceeded, d.Status.Phase)
}

// The cause of the failure is told though its pod ended reconciles before the job did.
func TestTheCauseOfAnEarlierFailureIsTold(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(1)}))
	job = after(job, plan(t, job, kt.Start, with(pods[:1], kt.Exited(9))[0], pods[1]))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.Start))
	job = kt.Edited(job, kt.PauseNow(false), success(v1beta1.FinishRule{"worker": nil}))
	failed := condition(plan(t, job, kt.At(time.Minute)).Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonSuccessUnreachable, failed.Reason)
	require.Contains(t, failed.Message, "exited with error code 9")
}

// A type may be replaced while the job is paused; pods of the old type must go.
func TestTypeThatIsRemovedWhilePaused(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.Start, pods...))
	job = kt.Edited(job, kt.PauseNow(false), func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Type = "node" })
	d := plan(t, job, kt.Start, pods...)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "CreatePod node-0@0"}, did(d))
	require.Equal(t, v1beta1.JobResuming, d.Status.Phase)
	job = after(job, d)
	require.Empty(t, did(plan(t, job, kt.Start, with(pods, kt.Released, kt.Deleted(kt.Start, time.Minute))[0], kt.Pod(job, "node", 0))))
}

// What was lost, or finished with policy Always, under an old mode does not count and does not finish.
func TestEndsUnderAnOldMode(t *testing.T) {
	for name, end := range map[string][]kt.PodOption{
		"lost": {kt.Running, kt.Deleted(kt.Start, 0)}, "Always and success": {kt.Exited(0)},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 1, kt.Type("worker", 1, kt.Policy(always, 5)))
			job = kt.Edited(job, kt.DebugNow(true))
			job = after(job, plan(t, job, kt.Start, pods...))
			d := plan(t, job, kt.Start, with(pods, end...)...)
			require.Zero(t, d.Status.BackoffCount)
			require.Zero(t, d.Status.DisruptionCount)
			require.Equal(t, v1beta1.TaskLedger{}, ledger(d.Status, "worker"))
			require.Contains(t, did(d), "ReleasePod worker-0")
		})
	}
}

func TestTrimKeepsMessagesShort(t *testing.T) {
	pod := kt.Pod(kt.Job(kt.Type("worker", 1)), "worker", 0)
	pod.Status.Message = strings.Repeat("x", 1000)
	podstate.Trim(pod)
	require.Equal(t, strings.Repeat("x", 253)+"...", pod.Status.Message)

	pod = kt.Pod(kt.Job(kt.Type("worker", 1)), "worker", 0, kt.Running)
	pod.ManagedFields = append(pod.ManagedFields, pod.ManagedFields...)
	podstate.Trim(pod)
	require.Equal(t, corev1.PodSpec{NodeName: "node"}, pod.Spec, "specs are most of a cache's memory")
}

// The message tells a limit that is spent from a code that is not retried.
func TestWhyAReplicaIsNotRestarted(t *testing.T) {
	tests := map[string]struct {
		policy func(*v1beta1.ReplicaSpec)
		code   int32
		want   string
	}{
		"ExitCode, limit spent":  {kt.Policy(exitCode, 0), 137, "; no restarts are left"},
		"ExitCode, other code":   {kt.Policy(exitCode, 1), 1, "; restart policy ExitCode does not restart it"},
		"OnFailure, limit spent": {kt.Policy(onFailure, 0), 1, "; no restarts are left"},
		"Never":                  {kt.Policy(never, 3), 1, "; restart policy Never does not restart it"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, tc.policy), kt.Begun)
			d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(tc.code)))
			require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, tc.want)
		})
	}
}
