package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func TestRestartScopeJob(t *testing.T) {
	job, pods := running(t, 3, kt.JobScope, kt.BackoffLimit(2), kt.Type("worker", 3))
	pods[1] = with(pods[1:2], kt.Exited(0))[0]
	job = after(job, plan(t, job, kt.At(time.Second), pods...))
	require.Equal(t, "1", ledger(job.Status, "worker").Succeeded)

	// Two fail in one reconcile: one count, one attempt, and who had succeeded runs again.
	old := append(with(pods[:1], kt.Exited(1)), pods[1], with(pods[2:], kt.Exited(2))[0])
	d := plan(t, job, kt.At(time.Minute), old...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.EqualValues(t, 1, d.Status.JobAttempt)
	require.Empty(t, ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "ReleasePod worker-1", "DeletePod worker-1",
		"ReleasePod worker-2", "DeletePod worker-2"}, did(d))
	require.Contains(t, d.Events[0].Message, "all replicas are replaced, attempt 1")
	job = after(job, d)

	for gone := range 3 {
		left := with(old[gone:gone+1], kt.Released, kt.Deleted(kt.Start, 30*time.Second))
		require.Empty(t, did(plan(t, job, kt.At(time.Minute), left...)), "the old pods must be gone before a collective forms anew")
	}
	d = plan(t, job, kt.At(time.Minute))
	require.Equal(t, []string{"CreatePod worker-0@1", "CreatePod worker-1@1", "CreatePod worker-2@1"}, did(d))

	// The second failure waits a second, though another rank failed; the third is one too many.
	pods = kt.Pods(job, "worker", 3, kt.Running, kt.StartedAt(kt.At(2*time.Minute)))
	job = after(job, plan(t, job, kt.At(3*time.Minute), append(pods[:2:2], with(pods[2:], kt.Exited(1), kt.StartedAt(kt.At(2*time.Minute)))...)...))
	require.EqualValues(t, 2, job.Status.JobAttempt)
	require.Empty(t, did(plan(t, job, kt.At(3*time.Minute))))
	require.Len(t, did(plan(t, job, kt.At(3*time.Minute+time.Second))), 3)
	d = plan(t, job, kt.At(4*time.Minute), kt.Pods(job, "worker", 3, kt.Exited(1))...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.EqualValues(t, 2, d.Status.BackoffCount)
}

func TestOneDrainOfAJobScopeIsOneDisruptionWhicheverEndIsSeenFirst(t *testing.T) {
	peers := []kt.PodOption{kt.Exited(1)}
	tests := map[string][]kt.PodOption{
		"the drained pod has ended":      {kt.Exited(137), kt.Disrupted},
		"the drained pod is still going": {kt.Running, kt.Deleted(kt.Start, 30*time.Second)},
		"the drained pod is lost":        {kt.Running, kt.Deleted(kt.Start, 0)},
	}
	for name, drained := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.JobScope, kt.BackoffLimit(0), kt.Type("worker", 3), kt.Begun)
			d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, peers...), kt.Pod(job, "worker", 1, drained...), kt.Pod(job, "worker", 2, peers...))
			require.Zero(t, d.Status.BackoffCount, "nobody's fault")
			require.Empty(t, ledger(d.Status, "worker").Failed)
			require.EqualValues(t, 1, d.Status.DisruptionCount)
			require.EqualValues(t, 1, d.Status.JobAttempt)
			require.Len(t, d.Events, 1)
			require.Equal(t, v1beta1.ReasonDisrupted, d.Events[0].Reason)
		})
	}
}

// A node that loses power, or forgets a container, ends no pod. Its kubelet tells of the container in one reconcile with the peers that failed
// because of it.
func TestALostContainerOfAJobScopeIsOneDisruptionBesideThePeersThatFail(t *testing.T) {
	startedAfterLoss := func(p *corev1.Pod) {
		startedAgain(1, 137)(p)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
	}
	for name, lost := range map[string]kt.PodOption{"it is ended": withoutSandbox(255, "Unknown"), "it is started again": startedAfterLoss} {
		for _, limit := range []int32{0, 3} {
			t.Run(fmt.Sprintf("%s, and the limit is %d", name, limit), func(t *testing.T) {
				job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(limit))
				pods[0] = with(pods[:1], lost)[0]
				pods[1] = with(pods[1:2], diedAt(0, 1, parted))[0]
				d := plan(t, job, kt.At(62*time.Second), pods...)
				require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
				require.Equal(t, []int32{0, 1, 1}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount, d.Status.JobAttempt})
				require.Empty(t, ledger(d.Status, "worker").Failed)
			})
		}
	}
}

func TestADisruptionOfAJobScopeReplacesAll(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(5), kt.Type("worker", 2), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(137), kt.Disrupted), kt.Pod(job, "worker", 1, kt.Running))
	require.Zero(t, d.Status.BackoffCount)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.EqualValues(t, 1, d.Status.JobAttempt)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "ReleasePod worker-1", "DeletePod worker-1"}, did(d))
}

// Policy Never forbids to start code again that has started, whatever ended it.
func TestAFailureUnderPolicyNeverIsFinalBesideADisruption(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.Type("worker", 1), kt.Type("once", 1, kt.Policy(v1beta1.RestartNever, -1)), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(137), kt.Disrupted), kt.Pod(job, "once", 0, kt.Exited(1)))
	require.Equal(t, "0", ledger(d.Status, "once").Failed)
	require.EqualValues(t, 1, d.Status.JobAttempt)
	require.Zero(t, d.Status.BackoffCount)
}

// In debug mode pods end when their users say so: that replaces one pod, whatever the scope.
func TestDebugPodOfAJobScopeIsReplacedAlone(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.Type("worker", 2), kt.DebugNow(true), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(0)), kt.Pod(job, "worker", 1, kt.Running))
	require.Zero(t, d.Status.JobAttempt)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0"}, did(d))
}
