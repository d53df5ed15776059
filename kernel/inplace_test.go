package kernel_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// startedAgain has the container of a pod have failed so often, and the kubelet start it again.
func startedAgain(times int32, code int32) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.PodIP = "192.0.2.1"
		s := &p.Status.ContainerStatuses[0]
		s.RestartCount = times
		s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}}
	}
}

// told has a pod have an order.
func told(attempt, jobAttempt int) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.PodIP = "192.0.2.1"
		p.Annotations[inplace.Annotation] = inplace.Order{Attempt: attempt, JobAttempt: jobAttempt}.String()
	}
}

// orders are what a decision tells pods.
func orders(d kernel.Decision) map[string]string {
	list := map[string]string{}
	for _, a := range d.Actions {
		if a.Verb == kernel.OrderPod {
			list[a.Pod.Labels[v1beta1.LabelReplicaRank]] = a.Order.String()
		}
	}
	return list
}

func TestEachFailureInPlaceIsARestart(t *testing.T) {
	job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.BackoffLimit(3))
	ended := append(with(pods[:2], startedAgain(1, 1)), pods[2])
	d := plan(t, job, kt.At(time.Minute), ended...)
	require.EqualValues(t, 2, d.Status.BackoffCount, "two at once are two")
	require.Equal(t, map[string]string{"0": "attempt=1 go=1 jobAttempt=0", "1": "attempt=1 go=1 jobAttempt=0"}, orders(d))

	job = after(job, d)
	require.EqualValues(t, 2, plan(t, job, kt.At(time.Minute), ended...).Status.BackoffCount, "each is counted once")

	// Two more ends of one container come into view at once: one restart is left.
	ended = append(with(ended[:2], told(1, 0)), pods[2])
	d = plan(t, job, kt.At(time.Hour), append(with(ended[:1], startedAgain(3, 1)), ended[1:]...)...)
	require.EqualValues(t, 3, d.Status.BackoffCount)
	d = plan(t, after(job, d), kt.At(time.Hour), append(with(ended[:1], startedAgain(3, 1), told(2, 0)), ended[1:]...)...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.EqualValues(t, 3, d.Status.BackoffCount)
}

func TestTheBarrierFallsWhenAllHaveReported(t *testing.T) {
	job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(1))
	pods = append(with(pods[:1], kt.Exited(0)), with(pods[1:], startedAgain(1, 9))...)
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.BackoffCount, "one restart is all replicas'")
	require.Equal(t, map[string]string{"1": "attempt=1 go=0 jobAttempt=1", "2": "attempt=1 go=0 jobAttempt=1"}, orders(d), "who has finished is no member")
	job = after(job, d)

	pods = append(with(pods[:1], kt.Released), with(pods[1:], told(1, 1))...)
	require.Len(t, barrier.Awaited(job, pods), 2)
	w := kernel.World{Job: job, Pods: pods, Now: kt.At(time.Minute + time.Second), Settings: kt.Settings}
	reports := func(of string, at int) map[types.UID]inplace.Report {
		return map[types.UID]inplace.Report{
			pods[1].UID: {Pod: string(pods[1].UID), Attempt: 1, Exits: 1},
			pods[2].UID: {Pod: of, Attempt: at, Exits: 1},
		}
	}
	for name, sent := range map[string]map[types.UID]inplace.Report{
		"one is missing":          {pods[1].UID: reports("", 0)[pods[1].UID]},
		"one is not there yet":    reports(string(pods[2].UID), 0),
		"one is of somebody else": reports("another pod that has the address now", 1),
		"one tells of ends that no kubelet knows": {
			pods[1].UID: reports("", 0)[pods[1].UID], pods[2].UID: {Pod: string(pods[2].UID), Attempt: 1, Exits: math.MaxInt},
		},
	} {
		w.Reports = sent
		d := planWorld(t, w)
		require.Empty(t, did(d), name)
		require.EqualValues(t, 0, d.Status.InPlace.StartedJobAttempt, name)
		require.Positive(t, d.RequeueAfter, name)
	}
	w.Reports = reports(string(pods[2].UID), 1)
	d = planWorld(t, w)
	require.EqualValues(t, 1, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, map[string]string{"1": "attempt=1 go=1 jobAttempt=1", "2": "attempt=1 go=1 jobAttempt=1"}, orders(d))

	// What had ended before the barrier fell belongs to the attempt that is over.
	job = after(job, d)
	require.Equal(t, v1beta1.JobRunning, plan(t, job, kt.At(2*time.Minute), pods...).Status.Phase)
	require.Equal(t, v1beta1.JobFailed, plan(t, job, kt.At(2*time.Minute), pods[0], pods[1], with(pods[2:], startedAgain(2, 9))[0]).Status.Phase)
}

func TestWhoIsAwaitedIsTold(t *testing.T) {
	job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(3))
	d := plan(t, job, kt.At(time.Minute), append(with(pods[:1], startedAgain(1, 9)), with(pods[1:], withIP)...)...)
	message := func(d kernel.Decision) string {
		c := condition(d.Status, v1beta1.ConditionRunning)
		return string(c.Status) + " " + c.Message
	}
	waits := "False Nothing trains since 2026-01-01T00:01:00Z, because " + d.Status.FirstFailure.Summary + ". The replicas begin again together, in their pods, attempt 1: waiting for "
	require.Equal(t, waits+"replica worker-0 to say that its code has stopped.", message(d))
	job = after(job, d)

	w := kernel.World{Job: job, Pods: append(with(pods[:1], startedAgain(1, 9), told(1, 1)), with(pods[1:], told(1, 1))...), Now: kt.At(time.Minute + 5*time.Second), Settings: kt.Settings}
	w.Reports = reports(1, w.Pods[:2]...)
	require.Equal(t, waits+"replica worker-2 to say that its code has stopped.", message(planWorld(t, w)))
	require.Equal(t, v1beta1.JobRunning, planWorld(t, w).Status.Phase)
	gone := w
	gone.Pods = w.Pods[:2]
	require.Equal(t, "False Waiting for replica worker-2: its pod is not there yet", message(planWorld(t, gone)))

	w.Reports = reports(1, w.Pods...)
	late := metav1.NewTime(kt.At(5 * time.Minute))
	delayed := w
	delayed.Job = job.DeepCopy()
	delayed.Job.Status.Ledger[0].Replicas[0].NotBefore = &late
	require.Equal(t, waits+"the end of the delay after several short lives, at 2026-01-01T00:05:00Z.", message(planWorld(t, delayed)))

	d = planWorld(t, w)
	require.EqualValues(t, 1, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, "True All pods are running normally or have completed successfully.", message(d))
}

func TestASuccessAfterAnEndOfTheWrapperAloneIsOne(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(3))
	d := plan(t, job, kt.At(time.Minute), with(pods, kt.Exited(0), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].RestartCount = 1 })...)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.Zero(t, d.Status.BackoffCount, "code runs once for an attempt: it had not begun")
}

func TestWhoDoesNotComeToTheBarrierIsReplaced(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(1))
	pods = with(pods, startedAgain(0, 0))
	pods[0] = with(pods[:1], startedAgain(1, 9))[0]
	job = after(job, plan(t, job, kt.At(time.Minute), pods...))
	w := kernel.World{Job: job, Pods: with(pods, told(1, 1)), Now: kt.At(90 * time.Second), Settings: kt.Settings}
	w.Reports = map[types.UID]inplace.Report{pods[0].UID: {Pod: string(pods[0].UID), Attempt: 1, Exits: 1}}
	require.Empty(t, did(planWorld(t, w)), "its code may take its grace period to end")
	w.Now = kt.At(3 * time.Minute)
	d := planWorld(t, w)
	require.Equal(t, []string{"StopPod worker-1"}, did(d))
	require.EqualValues(t, 1, d.Status.BackoffCount, "nothing more is counted")

	job, gone := after(job, d), w.Pods[:1]
	d = planWorld(t, kernel.World{Job: job, Pods: gone, Now: w.Now, Settings: kt.Settings, Reports: w.Reports})
	require.Equal(t, []string{"CreatePod worker-1@2"}, did(d))
	require.EqualValues(t, 0, d.Status.InPlace.StartedJobAttempt, "one of an earlier attempt may be there, and not in view")

	there := append(gone[:1:1], kt.Pod(after(job, d), "worker", 1))
	d = planWorld(t, kernel.World{Job: after(job, d), Pods: there, Now: w.Now, Settings: kt.Settings, Reports: w.Reports})
	require.Equal(t, []string{"OrderPod worker-0", "OrderPod worker-1"}, did(d))
}

func TestWhatIsNotInPlace(t *testing.T) {
	without := func(change func(*v1beta1.GenericJob)) []kt.JobOption {
		return []kt.JobOption{kt.Type("worker", 1), kt.InPlace, change}
	}
	for name, options := range map[string][]kt.JobOption{
		"no command": without(func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = nil }),
		"debug mode": without(kt.DebugNow(true)),
		"auxiliary":  without(func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Auxiliary = true }),
	} {
		job := kt.Job(append(options, kt.Begun)...)
		require.NotContains(t, kt.Pod(job, "worker", 0).Annotations, inplace.Annotation, name)
	}
	job := kt.Job(kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(1), kt.Begun)
	pod := kernel.NewPodBuilder(job, kernel.Settings{}).Pod(kernel.Action{Verb: kernel.CreatePod, Type: "worker"})
	require.Empty(t, pod.Spec.InitContainers, "there is no image with the wrapper")
	first := kernel.Plan(kernel.World{Job: kt.Job(kt.Type("worker", 1), kt.InPlace), Now: kt.Start})
	require.Contains(t, fmt.Sprint(first.Postponed.Events), "this operator has no image with the wrapper")

	// An older kubelet or apiserver does not know that the container is to be started again.
	failed := kt.Pod(job, "worker", 0, kt.Exited(1))
	d := plan(t, job, kt.At(time.Minute), failed)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0"}, did(d))

	// Beside a container that goes on, its failure is seen before its pod has ended.
	beside := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	d = plan(t, job, kt.At(time.Minute), with([]*corev1.Pod{failed}, beside)...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	d = plan(t, after(job, d), kt.At(2*time.Minute), with([]*corev1.Pod{failed}, told(1, 0))...)
	require.EqualValues(t, 1, d.Status.BackoffCount, "it is counted once")
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0"}, did(d))

	// The end of a container that no kubelet has seen is its node's doing.
	lost := kt.Pod(job, "worker", 0, kt.Running, startedAgain(1, 137))
	lost.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
	d = plan(t, job, kt.At(time.Minute), lost)
	require.Zero(t, d.Status.BackoffCount)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.Equal(t, []string{"StopPod worker-0"}, did(d))
}

func TestWhoHasFinishedWhenAllPodsAreReplacedHasFinished(t *testing.T) {
	job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(5))
	job.Status.InPlace = &v1beta1.InPlaceStatus{StartedJobAttempt: 0, MinPodJobAttempt: 1}
	job.Status.JobAttempt = 1
	d := plan(t, job, kt.At(time.Minute), with(pods[:1], kt.Exited(0))[0], with(pods[1:2], kt.Exited(1))[0], pods[2])
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Zero(t, d.Status.BackoffCount)
	require.Equal(t, []string{"ReleasePod worker-0", "ReleasePod worker-1", "DeletePod worker-1", "StopPod worker-2"}, did(d))
}

// Who may patch pods may write over an order. The operator alone gives them, and counts nothing for it.
func TestWhatAStrangerWritesOverAnOrderIsWrittenOverOnce(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(3))
	ended := with(pods, startedAgain(1, 1))
	job = after(job, plan(t, job, kt.At(time.Minute), ended...))
	require.EqualValues(t, 1, job.Status.BackoffCount)
	write := func(text string) kt.PodOption {
		return func(p *corev1.Pod) { p.Annotations[inplace.Annotation] = text }
	}
	const ours = "attempt=1 go=1 jobAttempt=0"
	for theirs, does := range map[string]string{
		"attempt=1 go=0 jobAttempt=0": "OrderPod worker-0", "attempt=0 go=0 jobAttempt=0": "OrderPod worker-0", "attempt=1 go=1 jobAttempt=7": "OrderPod worker-0",
		"nonsense": "StopPod worker-0", "": "StopPod worker-0", // what is no order: nobody can say where its code is
	} {
		d := plan(t, job, kt.At(time.Hour), with(ended, write(theirs))...)
		require.Equal(t, []string{does}, did(d), theirs)
		require.EqualValues(t, 1, d.Status.BackoffCount, theirs)
		require.Empty(t, plan(t, after(job, d), kt.At(time.Hour), with(ended, write(ours))...).Actions, theirs)
	}
}

// A pod that knows of a later attempt than the status may be right. Somebody may have emptied the status, or restored it from a backup.
func TestAnOrderAheadOfTheStatusIsToldAndNotUndone(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(3))
	ahead := with(pods, func(p *corev1.Pod) { p.Annotations[inplace.Annotation] = "attempt=50 go=50 jobAttempt=0" })
	require.True(t, plan(t, job, kt.At(time.Hour), ahead...).Stale, "the job is read live first")
	d := planWorld(t, kernel.World{Job: job, Pods: ahead, Now: kt.At(time.Hour), Settings: kt.Settings, JobIsLive: true})
	require.Empty(t, d.Actions)
	require.Zero(t, d.Status.BackoffCount)
	require.Contains(t, condition(d.Status, v1beta1.ConditionBlocked).Message, "delete that one")
}
