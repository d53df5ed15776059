package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// goes has a pod have an order to go on.
func goes(attempt, jobAttempt int) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.PodIP = "192.0.2.1"
		p.Annotations[inplace.Annotation] = inplace.Order{Attempt: attempt, Go: attempt, JobAttempt: jobAttempt}.String()
	}
}

// startedOver is a job of two replicas that have restarted in place together, a minute after it began, and their pods.
func startedOver(t *testing.T, limit int32) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	return startedOverBy(t, 2, limit)
}

// startedOverBy has them do so because the containers of so many of them have failed.
func startedOverBy(t *testing.T, failed int, limit int32) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(limit))
	pods = append(with(pods[:failed], startedAgain(1, 9)), pods[failed:]...)
	job = after(job, plan(t, job, kt.At(time.Minute), pods...))
	w := kernel.World{Job: job, Pods: with(pods, told(1, 1)), Now: kt.At(time.Minute), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	for _, p := range pods {
		w.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 1, Exits: int(p.Status.ContainerStatuses[0].RestartCount)}
	}
	job = after(job, planWorld(t, w))
	require.EqualValues(t, 1, job.Status.InPlace.StartedJobAttempt)
	return job, with(pods, goes(1, 1), func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	})
}

// holding is a world in which a pod holds the end of an attempt.
func holding(job *v1beta1.GenericJob, pods []*corev1.Pod, pod *corev1.Pod, attempt int) kernel.World {
	began := kt.At(time.Minute)
	held := &inplace.End{Attempt: attempt, Code: 137, Began: began, Ended: began.Add(10 * time.Second), Message: "out of luck"}
	return kernel.World{Job: job, Pods: pods, Now: kt.At(2 * time.Minute), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{
		pod.UID: {Pod: string(pod.UID), Attempt: attempt, Exits: 1, Held: held},
	}}
}

func TestAnEndThatIsHeldCountsOnce(t *testing.T) {
	job, pods := startedOver(t, 3)
	require.Len(t, barrier.MayHold(job, pods, kt.At(2*time.Minute)), 2)
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.Equal(t, time.Second, d.RequeueAfter, "they are asked again soon")

	d = planWorld(t, holding(job, pods, pods[1], 1))
	require.EqualValues(t, 2, d.Status.BackoffCount)
	require.Equal(t, map[string]string{"0": "attempt=2 go=0 jobAttempt=2", "1": "attempt=2 go=0 jobAttempt=2"}, orders(d))
	failure := d.Status.Failures[len(d.Status.Failures)-1]
	require.Equal(t, pods[1].Name, failure.Pod)
	require.EqualValues(t, 137, *failure.ExitCode)
	require.Contains(t, failure.Message, "out of luck")
	require.Equal(t, kt.At(time.Minute+10*time.Second), failure.Time.Time)

	// Its container may end before the order comes, or its report be seen again: both are of the attempt that is over.
	next := after(job, d)
	for name, w := range map[string]kernel.World{
		"held still":      holding(next, pods, pods[1], 1),
		"held, and told":  holding(next, with(pods, told(2, 2)), pods[1], 1),
		"its hold is out": {Job: next, Pods: append(pods[:1:1], with(pods[1:], startedAgain(2, 137))...), Now: kt.At(2 * time.Minute), Settings: kt.Settings},
	} {
		require.EqualValues(t, 2, planWorld(t, w).Status.BackoffCount, name)
	}
	require.Empty(t, barrier.MayHold(next, pods, kt.At(2*time.Minute)), "they wait for each other")

	// What its container does in the new attempt is news again, held or not.
	w := kernel.World{Job: next, Pods: with(pods, told(2, 2)), Now: kt.At(2*time.Minute + 5*time.Second), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	for _, p := range pods {
		w.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 2, Exits: 1}
	}
	next, pods = after(next, planWorld(t, w)), with(pods, goes(2, 2))
	require.EqualValues(t, 2, next.Status.InPlace.StartedJobAttempt)
	require.EqualValues(t, 3, planWorld(t, holding(next, pods, pods[1], 2)).Status.BackoffCount)
	require.EqualValues(t, 3, plan(t, next, kt.At(3*time.Minute), pods[0], with(pods[1:], startedAgain(2, 1))[0]).Status.BackoffCount)
}

func TestTheBarrierWaitsForPodsThatWereScaledAway(t *testing.T) {
	job, pods := startedOver(t, 3)
	scaledDown := kt.Pod(job, "worker", 7, kt.Running)
	job = after(job, planWorld(t, holding(job, pods, pods[1], 1)))
	w := kernel.World{Job: job, Pods: append(with(pods, told(2, 2)), scaledDown), Now: kt.At(3 * time.Minute), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	for _, p := range pods {
		w.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 2, Exits: 1}
	}
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt, "its code runs still")
	w.Pods = w.Pods[:2]
	require.EqualValues(t, 2, planWorld(t, w).Status.InPlace.StartedJobAttempt)
}

// A kubelet that does not start containers again shows an end late which the barrier has absorbed.
func TestAPodThatEndsByWhatIsCountedAlready(t *testing.T) {
	job, pods := startedOver(t, 3)
	ended := func(p *corev1.Pod) {
		kt.Exited(9)(p)
		p.Status.ContainerStatuses[0].RestartCount = 0
	}
	d := plan(t, job, kt.At(2*time.Minute), append(pods[:1:1], with(pods[1:], ended)...)...)
	require.Equal(t, []int32{1, 0, 2}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount, d.Status.JobAttempt}, "it is replaced")

	d = plan(t, job, kt.At(2*time.Minute), append(pods[:1:1], with(pods[1:], ended, kt.Deleted(kt.At(time.Minute), 30*time.Second))...)...)
	require.Equal(t, []int32{1, 1, 2}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount, d.Status.JobAttempt}, "somebody has it removed")
}

func TestWhenNothingIsLeftAPodThatHoldsIsEnded(t *testing.T) {
	job, pods := startedOver(t, 1)
	d := planWorld(t, holding(job, pods, pods[1], 1))
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Contains(t, did(d), "EndPod worker-1")
}

// The wrapper of a pod that may be the cause reports how its code has ended, while the pod is being deleted.
func TestTheCauseIsHeardFromAWrapperAfterTheEnd(t *testing.T) {
	job, pods := startedOver(t, 1)
	job.Spec.CleanUpPolicy = v1beta1.CleanUpUnfinished
	w := holding(job, pods, pods[0], 1)
	w.Reports[pods[0].UID].Held.Message = parted
	d := planWorld(t, w)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.True(t, d.Status.FirstFailure.Probable)
	require.Contains(t, did(d), "DeletePod worker-1")
	require.NotContains(t, did(d), "ReleasePod worker-1")

	pods[1] = with(pods[1:], kt.Deleted(w.Now, 30*time.Second))[0]
	late := holding(after(job, d), pods, pods[1], 1)
	report := late.Reports[pods[1].UID]
	report.Ended, report.Held = report.Held, nil
	report.Ended.Message, report.Ended.Ended = nan, w.Now.Add(time.Second)
	late.Reports[pods[1].UID], late.Now = report, w.Now.Add(2*time.Second)
	d = planWorld(t, late)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod)
	require.False(t, d.Status.FirstFailure.Probable)
	require.Contains(t, did(d), "ReleasePod worker-1")
}

// The first call may meet a pod that has just changed, or its caller may be killed. Then the next reconcile, which asks nobody, makes the
// call again.
func TestAPodThatHeldItsFinalFailureKeepsItsLogs(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{
		"the job has failed":      nil,
		"the job goes on without": {func(j *v1beta1.GenericJob) { j.Spec.FailureRules = []v1beta1.FinishRule{{"worker": nil}} }},
	} {
		job, pods := startedOverBy(t, 1, 1) // the container of the other was never started again
		for _, o := range options {
			o(job)
		}
		job = after(job, planWorld(t, holding(job, pods, pods[1], 1)))
		require.Equal(t, "1", ledger(job.Status, "worker").Failed, name)
		w := kernel.World{Job: job, Pods: with(pods, kt.Released), Now: kt.At(2*time.Minute + time.Second), Settings: kt.Settings}
		require.Equal(t, []string{"EndPod worker-1"}, did(planWorld(t, w)), name)
		second := kt.Pod(job, "worker", 1, kt.Running)
		w.Pods = []*corev1.Pod{w.Pods[0], second}
		require.Contains(t, did(planWorld(t, w)), "StopPod worker-1", "%s: a pod that comes a second time runs code", name)
	}
}

func TestWhatIsNoEndThatIsHeld(t *testing.T) {
	job, pods := startedOver(t, 3)
	w := holding(job, pods, pods[1], 1)
	report := w.Reports[pods[1].UID]
	for name, world := range map[string]kernel.World{
		"of an earlier attempt":    holding(job, pods, pods[1], 0),
		"of a pod that must go":    holding(job, append(pods[:1:1], with(pods[1:], kt.Deleted(kt.At(time.Minute), 30*time.Second))...), pods[1], 1),
		"of another pod's address": {Job: job, Pods: pods, Now: w.Now, Settings: kt.Settings, Reports: map[types.UID]inplace.Report{pods[0].UID: report}},
	} {
		require.EqualValues(t, 1, planWorld(t, world).Status.BackoffCount, name)
	}
	require.Empty(t, barrier.MayHold(job, pods, kt.At(time.Hour)), "the kubelet has forgotten")
}

// A pod has been told to stop its code for the next attempt, and a pause comes before it has. Its code may do its work until it is stopped, so it is
// stopped with a mark, as any pod that lives.
func TestAPauseMarksPodsThatHaveBeenToldToStop(t *testing.T) {
	job, pods := startedOver(t, 3)
	job = after(job, planWorld(t, holding(job, pods, pods[1], 1)))
	paused := kt.Edited(job, kt.PauseNow(true))
	paused = after(paused, plan(t, paused, kt.At(2*time.Minute+time.Second), with(pods, told(2, 2))...))
	d := plan(t, paused, kt.At(2*time.Minute+2*time.Second), with(pods, told(2, 2))...)
	require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
}
