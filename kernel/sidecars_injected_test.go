package kernel_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func TestAnInjectedSidecarThatNeverEndsHoldsNothingUp(t *testing.T) {
	for code, want := range map[int32]v1beta1.JobPhase{0: v1beta1.JobSucceeded, 9: v1beta1.JobFailed} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		pod := kt.Pod(job, "worker", 0, kt.Exited(code), runsIn("istio-proxy"))
		d := plan(t, job, kt.Start, pod)
		require.Equal(t, want, d.Status.Phase)
		require.Equal(t, []string{"ReleasePod worker-0"}, did(d), "the pod stays, with its logs")
		require.Equal(t, 10*time.Second, d.RequeueAfter, "the sidecar may report what it has collected, as that of Katib does")
		late := plan(t, after(job, d), kt.At(10*time.Second), pod)
		require.Equal(t, []string{"EndPod worker-0", "ReleasePod worker-0"}, did(late))

		pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
		require.Equal(t, []string{"ReleasePod worker-0"}, did(plan(t, after(job, d), kt.At(10*time.Second), pod)), "once is enough")
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		require.Equal(t, want, plan(t, after(job, d), kt.Start, pod).Status.Phase)
	}
}

// The kubelet's clock says when code ended, and the operator's for how long that is.
func TestAnInjectedSidecarIsEndedWhateverTheClocksSay(t *testing.T) {
	for since, want := range map[time.Duration]time.Duration{
		-time.Hour: 0, -5 * time.Second: 15 * time.Second, 0: 10 * time.Second, 9 * time.Second: time.Second, 10 * time.Second: 0, time.Hour: 0,
	} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		now := kt.At(2 * time.Hour)
		d := plan(t, job, now, kt.Pod(job, "worker", 0, kt.ExitedAt(0, now.Add(-since)), runsIn("istio-proxy")))
		require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, "the outcome waits for nothing")
		require.Equal(t, want == 0, slices.Contains(did(d), "EndPod worker-0"), since)
		require.Equal(t, want, d.RequeueAfter, since)
	}
}

// A replica that has finished waits for its sidecar in a job that goes on, too.
func TestAnInjectedSidecarOfAFinishedReplicaMayReport(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "0"}}
	pod := kt.Pod(job, "worker", 0, kt.Exited(0), runsIn("istio-proxy"))
	require.NotContains(t, did(plan(t, job, kt.At(9*time.Second), pod, kt.Pod(job, "worker", 1, kt.Running))), "EndPod worker-0")
	require.Contains(t, did(plan(t, job, kt.At(10*time.Second), pod, kt.Pod(job, "worker", 1, kt.Running))), "EndPod worker-0")
}

// So does one in a pod that is to begin again, when the job ends before the pod hears it. Its code has ended, and waits for no order.
func TestAnInjectedSidecarMayReportThoughItsPodWasToBeginAgain(t *testing.T) {
	job, pods := startedOver(t, 3)
	kt.Policy(v1beta1.RestartAlways, 3)(&job.Spec.ReplicaSpecs[0])
	job.Spec.ActiveDeadlineSeconds = ptr.To[int64](120)
	job = after(job, plan(t, job, kt.At(90*time.Second), append(pods[:1:1], with(pods[1:], kt.FailedWithout("Evicted"), kt.Disrupted)...)...))
	require.EqualValues(t, 2, job.Status.JobAttempt)

	now := kt.At(2 * time.Minute)
	pods = with(pods[:1], kt.ExitedAt(0, now), runsIn("istio-proxy"))
	d := plan(t, job, now, pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Equal(t, []string{"ReleasePod worker-0"}, did(d))
	job, pods = after(job, d), with(pods, kt.Released)
	require.Equal(t, 4*time.Second, plan(t, job, now.Add(6*time.Second), pods...).RequeueAfter)
	require.Equal(t, []string{"EndPod worker-0"}, did(plan(t, job, now.Add(10*time.Second), pods...)))
}

// A pod that waits for its order is ended by one call, also if only what admission has added still runs there.
func TestAnInjectedSidecarIsEndedByOneCall(t *testing.T) {
	job, pods := startedOverBy(t, 1, 1)
	job = after(job, planWorld(t, holding(job, pods, pods[1], 1)))
	require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
	pods = with(pods[1:], kt.ExitedAt(9, kt.At(2*time.Minute)), runsIn("istio-proxy"), kt.Released)
	require.Equal(t, []string{"EndPod worker-1"}, did(plan(t, job, kt.At(3*time.Minute), pods...)))
}

// Clean-up leaves it the same time. A pod that is deleted takes what has not been reported along.
func TestAnInjectedSidecarMayReportBeforeTheCleanUp(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun, cleanUp(v1beta1.CleanUpAll))
	pod := kt.Pod(job, "worker", 0, kt.Exited(0), runsIn("istio-proxy"))
	d := plan(t, job, kt.Start, pod)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.NotContains(t, did(d), "DeletePod worker-0")
	require.Contains(t, did(plan(t, after(job, d), kt.At(10*time.Second), pod)), "DeletePod worker-0")
}

func TestAnInjectedSidecarDecidesNothing(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(0), exitedIn("istio-proxy", 1)))
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, "its failure fails nobody")

	d = plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running, exitedIn("istio-proxy", 1)))
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
}

func TestAnInjectedInitContainerIsNoCodeThatHasStarted(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartNever, -1)), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Disrupted, kt.FailedWithout("Evicted"), func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "istio-init", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 1},
		}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main"}}
	}))
	require.NotEqual(t, v1beta1.JobFailed, d.Status.Phase, "nothing of the user's has run: it may run")
	require.EqualValues(t, 1, d.Status.DisruptionCount)
}
