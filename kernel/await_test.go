package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// atBarrier is a job of two replicas that wait for each other since a minute after it began, of which the first has arrived.
func atBarrier(t *testing.T) (*v1beta1.GenericJob, kernel.World) {
	t.Helper()
	job, pods := running(t, 2, kt.Task("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(9))
	pods = append(with(pods[:1], startedAgain(1, 9)), with(pods[1:], startedAgain(0, 0))...)
	job = after(job, plan(t, job, kt.At(time.Minute), pods...))
	w := kernel.World{Job: job, Pods: with(pods, told(1, 1)), Settings: kt.Settings}
	w.Reports = map[types.UID]inplace.Report{pods[0].UID: {Pod: string(pods[0].UID), At: 1, Exits: 1}}
	return job, w
}

func TestABarrierThatWaitsForAQuotaIsLookedAtSeldom(t *testing.T) {
	_, w := atBarrier(t)
	w.Pods = w.Pods[:1] // the pod of the other is gone, and a quota refuses the next
	for _, later := range []time.Duration{3 * time.Minute, time.Hour, 10 * time.Hour} {
		w.Now = kt.At(later)
		d := planWorld(t, w)
		require.Equal(t, []string{"CreatePod worker-1@1"}, did(d), later)
		require.GreaterOrEqual(t, d.RequeueAfter, time.Minute, "no question hastens that: %s", later)
	}
}

func TestABarrierThatWaitsForItsDelayIsLookedAtThen(t *testing.T) {
	_, w := atBarrier(t)
	later := metav1.NewTime(kt.At(time.Hour + 40*time.Second))
	w.Job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 12, NotBefore: &later}}}}
	w.Pods, w.Now = nil, kt.At(time.Hour)
	require.Equal(t, 40*time.Second, planWorld(t, w).RequeueAfter)
}

// Who takes long to arrive is asked less often: each question costs a pass.
func TestTheLongerABarrierLastsTheLessOftenIsItAsked(t *testing.T) {
	_, w := atBarrier(t)
	w.Job.Spec.ReplicaSpecs[0].Template.Spec.TerminationGracePeriodSeconds = new(int64)
	*w.Job.Spec.ReplicaSpecs[0].Template.Spec.TerminationGracePeriodSeconds = 7200
	for later, want := range map[time.Duration]time.Duration{
		0: 200 * time.Millisecond, 2 * time.Second: 200 * time.Millisecond, 20 * time.Second: 2 * time.Second, time.Hour: 5 * time.Second,
	} {
		w.Now = kt.At(time.Minute + later)
		require.Equal(t, want, planWorld(t, w).RequeueAfter, later)
	}
	w.Now, w.Pods[1].Status.PodIP = kt.At(time.Hour), ""
	require.Equal(t, time.Minute, planWorld(t, w).RequeueAfter, "nobody can ask it")
}

func TestWhoDoesNotComeIsGivenUpInTime(t *testing.T) {
	_, w := atBarrier(t)
	w.Now = kt.At(2*time.Minute - time.Second) // 30 seconds of grace, and 30 more, are over in a second
	w.Pods[1].Status.PodIP = ""
	d := planWorld(t, w)
	require.Empty(t, did(d))
	w.Now = w.Now.Add(d.RequeueAfter)
	require.Equal(t, []string{"StopPod worker-1"}, did(planWorld(t, w)))
}

// A stranger's order of an attempt far away must not open this barrier, nor each later one.
func TestAReportOfALaterAttemptIsNoArrival(t *testing.T) {
	_, w := atBarrier(t)
	w.Now = kt.At(time.Minute + time.Second)
	other := w.Pods[1].UID
	w.Reports[other] = inplace.Report{Pod: string(other), At: 1 << 30}
	d := planWorld(t, w)
	require.Zero(t, d.Status.InPlace.Reached)
	require.Equal(t, 200*time.Millisecond, d.RequeueAfter)
	w.Now = kt.At(3 * time.Minute)
	require.Equal(t, []string{"StopPod worker-1"}, did(planWorld(t, w)), "its wrapper is lost to us")
	w.Reports[other] = inplace.Report{Pod: string(other), At: 1}
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.Reached)
}

func TestPodsAreAskedMoreOftenThanTheyHoldEnds(t *testing.T) {
	require.Equal(t, time.Second, kernel.HoldInterval(2))
	require.Equal(t, 2500*time.Millisecond, kernel.HoldInterval(500))
	for _, pods := range []int{1000, 5000, 10_000} {
		require.LessOrEqual(t, 2*kernel.HoldInterval(pods), inplace.Hold)
	}
}
