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
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// atBarrier is a job of two replicas that wait for each other since a minute after it began, of which the first has arrived.
func atBarrier(t *testing.T) (*v1beta1.GenericJob, kernel.World) {
	t.Helper()
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(9))
	pods = append(with(pods[:1], startedAgain(1, 9)), with(pods[1:], startedAgain(0, 0))...)
	job = after(job, plan(t, job, kt.At(time.Minute), pods...))
	w := kernel.World{Job: job, Pods: with(pods, told(1, 1)), Settings: kt.Settings}
	w.Reports = map[types.UID]inplace.Report{pods[0].UID: {Pod: string(pods[0].UID), Attempt: 1, Exits: 1}}
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

// Who takes long to arrive is asked less often: each question costs a reconcile.
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
	w.Reports[other] = inplace.Report{Pod: string(other), Attempt: 1 << 30}
	d := planWorld(t, w)
	require.Zero(t, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, 200*time.Millisecond, d.RequeueAfter)
	w.Now = kt.At(3 * time.Minute)
	require.Equal(t, []string{"StopPod worker-1"}, did(planWorld(t, w)), "its wrapper is lost to us")
	w.Reports[other] = inplace.Report{Pod: string(other), Attempt: 1}
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt)
}

func TestPodsAreAskedMoreOftenThanTheyHoldEnds(t *testing.T) {
	require.Equal(t, time.Second, barrier.HoldInterval(2))
	require.Equal(t, 2500*time.Millisecond, barrier.HoldInterval(500))
	for _, pods := range []int{1000, 5000, 10_000} {
		require.LessOrEqual(t, 2*barrier.HoldInterval(pods), inplace.Hold)
	}
}

// Who is awaited stays so: else each second of a wait would be a write of the status.
func TestAQuietWaitCostsNoWrites(t *testing.T) {
	for name, change := range map[string]func(*kernel.World){
		"for one that is silent":  func(*kernel.World) {},
		"for one that is deleted": func(w *kernel.World) { kt.Deleted(kt.At(2*time.Minute), 30*time.Second)(w.Pods[1]) },
		"for one that is gone":    func(w *kernel.World) { w.Pods = w.Pods[:1] },
		"for a delay": func(w *kernel.World) {
			soon, late := metav1.NewTime(kt.At(10*time.Minute)), metav1.NewTime(kt.At(11*time.Minute))
			w.Job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{
				{Rank: 0, Streak: 12, NotBefore: &soon}, {Rank: 1, Streak: 12, NotBefore: &late},
			}}}
			w.Reports = reports(1, w.Pods...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, w := atBarrier(t)
			change(&w)
			w.Now = kt.At(2*time.Minute + time.Second)
			for range 3 { // it is told, and perhaps given up
				w.Job = after(w.Job, planWorld(t, w))
				w.Now = w.Now.Add(5 * time.Second)
			}
			for range 30 {
				d := planWorld(t, w)
				require.Equal(t, w.Job.Status, d.Status)
				require.Empty(t, d.Events)
				w.Now = w.Now.Add(time.Second)
			}
		})
	}
}

// An operator that has just begun has heard of nobody: who is awaited does not change by that, nor by who comes and goes before.
func TestWhoIsAwaitedStaysSo(t *testing.T) {
	job, pods := running(t, 12, kt.Type("worker", 12), kt.InPlace, kt.JobScope, kt.BackoffLimit(9))
	job = after(job, plan(t, job, kt.At(time.Minute), append(with(pods[:1], startedAgain(1, 9)), with(pods[1:], withIP)...)...))
	w := kernel.World{Job: job, Pods: append(with(pods[:1], startedAgain(1, 9), told(1, 1)), with(pods[1:], told(1, 1))...), Settings: kt.Settings}
	arrive := func(later time.Duration, ranks ...int) string {
		w.Now, w.Reports = kt.At(time.Minute+later), map[types.UID]inplace.Report{}
		for _, rank := range ranks {
			w.Reports[w.Pods[rank].UID] = inplace.Report{Pod: string(w.Pods[rank].UID), Attempt: 1}
		}
		d := planWorld(t, w)
		w.Job = after(w.Job, d)
		return condition(d.Status, v1beta1.ConditionRunning).Message
	}
	first := arrive(2*time.Second, 0, 2, 3)
	require.Contains(t, first, "waiting for replica worker-1 to say")
	tenth := arrive(4*time.Second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	require.Contains(t, tenth, "waiting for replica worker-10 to say")
	require.Equal(t, tenth, arrive(6*time.Second), "nobody has been heard")
	require.Equal(t, tenth, arrive(8*time.Second, 0, 2))
	require.Contains(t, arrive(10*time.Second, 0, 10), "waiting for replica worker-1 to say", "it has come")
}

// A report that tells many ends more than the kubelet is not believed, so its wrapper is asked again soon.
func TestAWrapperThatIsNotBelievedIsAskedAgain(t *testing.T) {
	for ahead, soon := range map[int]bool{0: false, 16: false, 17: true} {
		_, w := atBarrier(t)
		for _, p := range w.Pods {
			w.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 1, Exits: int(p.Status.ContainerStatuses[0].RestartCount)}
		}
		later := metav1.NewTime(kt.At(time.Hour))
		w.Job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 12, NotBefore: &later}}}}
		w.Now = kt.At(62 * time.Second)
		report := w.Reports[w.Pods[0].UID]
		report.Exits += ahead
		w.Reports[w.Pods[0].UID] = report
		require.Equal(t, soon, planWorld(t, w).RequeueAfter <= 5*time.Second, ahead)
	}
}
