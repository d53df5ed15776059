package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// withoutSandbox is a pod whose sandbox is gone: its container has ended a minute after the start. The kubelet still calls the pod Running,
// and does not start the container again.
func withoutSandbox(code int32, reason string) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.PodIP = corev1.PodRunning, "192.0.2.1"
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, FinishedAt: metav1.NewTime(kt.At(time.Minute))}}
	}
}

// backsOff has the kubelet say that it starts the ended container of a pod later.
func backsOff(p *corev1.Pod) { waitsFor("CrashLoopBackOff")(p) }

// waitsFor has the kubelet say why it has not started the ended container of a pod again.
func waitsFor(reason string) kt.PodOption {
	return func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
}

func TestAPodThatHasLostItsSandboxIsReplaced(t *testing.T) {
	for name, test := range map[string]struct {
		end                   []kt.PodOption
		within                time.Duration // after the end
		restarts, disruptions int32
	}{
		"told to end":        {[]kt.PodOption{withoutSandbox(143, "Error")}, 2 * time.Minute, 0, 1},
		"killed":             {[]kt.PodOption{withoutSandbox(137, "Error")}, 2 * time.Minute, 0, 1},
		"exits with 1":       {[]kt.PodOption{withoutSandbox(1, "Error")}, 2 * time.Minute, 1, 0},
		"out of memory":      {[]kt.PodOption{withoutSandbox(137, "OOMKilled")}, 2 * time.Minute, 1, 0},
		"after a reboot":     {[]kt.PodOption{withoutSandbox(255, "Unknown")}, 0, 0, 1},
		"while it backs off": {[]kt.PodOption{withoutSandbox(1, "Error"), backsOff}, 7 * time.Minute, 1, 0},
		"its image is gone":  {[]kt.PodOption{withoutSandbox(1, "Error"), waitsFor("ErrImageNeverPull")}, 7 * time.Minute, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.BackoffLimit(5))
			pods[0] = with(pods[:1], test.end...)[0]
			for _, later := range []time.Duration{0, test.within - time.Second, test.within} {
				if later < 0 {
					continue
				}
				d := plan(t, job, kt.At(time.Minute+later), pods...)
				job = after(job, d)
				if order := orders(d)["0"]; order != "" {
					pods[0] = with(pods[:1], goes(1, 0))[0]
				}
				if later < test.within {
					require.NotContains(t, did(d), "StopPod worker-0", "the kubelet may start it again")
					require.NotZero(t, plan(t, job, kt.At(time.Minute+later), pods...).RequeueAfter, "somebody looks again")
					continue
				}
				require.Equal(t, []string{"StopPod worker-0"}, did(plan(t, job, kt.At(time.Minute+later), pods...)))
			}
			require.Equal(t, []int32{test.restarts, test.disruptions}, []int32{job.Status.BackoffCount, job.Status.DisruptionCount})
			again := plan(t, job, kt.At(time.Hour), pods...)
			require.Equal(t, []int32{test.restarts, test.disruptions}, []int32{again.Status.BackoffCount, again.Status.DisruptionCount}, "it is counted once")
		})
	}
}

func TestAPodThatHasLostItsSandboxIsNotAwaited(t *testing.T) {
	for name, end := range map[string]kt.PodOption{
		"told to end": withoutSandbox(143, "Error"), "after a reboot": withoutSandbox(255, "Unknown"),
	} {
		job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(0))
		pods[0] = with(pods[:1], end)[0]
		d := plan(t, job, kt.At(10*time.Minute), pods...)
		require.Equal(t, []int32{0, 1, 1}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount, d.Status.JobAttempt}, name)
		require.Equal(t, []string{"StopPod worker-0", "OrderPod worker-1", "OrderPod worker-2"}, did(d), name)
	}
}

// Each would else be waited for until its patience is over, one behind the other.
func TestAllPodsOfARebootedNodeAreReplacedAtOnce(t *testing.T) {
	for name, end := range map[string]kt.PodOption{
		"told to end": withoutSandbox(143, "Error"), "after a reboot": withoutSandbox(255, "Unknown"),
	} {
		job, pods := running(t, 4, kt.Type("worker", 4), kt.InPlace, kt.JobScope, kt.BackoffLimit(0))
		lost := append(with(pods[:3], end), pods[3])
		d := plan(t, job, kt.At(10*time.Minute), lost...)
		require.Equal(t, []int32{0, 1, 1}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount, d.Status.JobAttempt}, name)
		require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1", "StopPod worker-2", "OrderPod worker-3"}, did(d), name)

		// The last of them is seen when the others wait already.
		d = plan(t, job, kt.At(10*time.Minute), append(deepCopies(lost[:2]), pods[2:]...)...)
		later := append(deepCopies(lost[:2]), with(lost[2:3], told(1, 1))[0], with(pods[3:], told(1, 1))[0])
		require.Contains(t, did(plan(t, after(job, d), kt.At(10*time.Minute+time.Second), later...)), "StopPod worker-2", name)
	}
}

// A kubelet may know of no containers that start again. It leaves one ended that exits as if it was told to, and so does a kubelet that evicts
// the pod. The phase distinguishes the two, once what admission has added has ended, too.
func TestAContainerThatIsNotStartedAgainBesideAProxyHasThePodEnded(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(5))
	ended := with(pods, withoutSandbox(143, "Error"), func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	})
	d := plan(t, job, kt.At(2*time.Minute), ended...)
	require.Empty(t, did(d), "it may be started again")
	require.Positive(t, d.RequeueAfter)
	require.Equal(t, []string{"EndPod worker-0"}, did(plan(t, job, kt.At(10*time.Minute), ended...)))
	failed := with(ended, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded" })
	require.EqualValues(t, 1, plan(t, job, kt.At(11*time.Minute), failed...).Status.BackoffCount)
}

// The same beside a container of the template.
func TestAContainerThatIsNotStartedAgainBesideAnotherHasThePodReplaced(t *testing.T) {
	hour := int64(3600)
	job, pods := running(t, 1, kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "main"}
		p.Spec.TerminationGracePeriodSeconds = &hour
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "logs", Image: "image"})
	})), kt.InPlace, kt.BackoffLimit(5))
	ended := with(pods, withoutSandbox(143, "Error"), func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "logs", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	})
	require.Empty(t, did(plan(t, job, kt.At(30*time.Minute), ended...)), "the pod may be being evicted, and that one takes its grace period")
	require.Equal(t, []string{"StopPod worker-0"}, did(plan(t, job, kt.At(2*time.Hour), ended...)))
}

func TestWhatNeverForbidsASandboxDoesNotAllow(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1, kt.Policy(v1beta1.RestartNever, -1)), kt.InPlace)
	d := plan(t, job, kt.At(time.Hour), with(pods, withoutSandbox(143, "Error"))...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Contains(t, did(d), "EndPod worker-0", "it stays, with its logs, and holds no GPU")
}

// notFound is a pod whose container the kubelet cannot find. It says that it waits to be started, and has raised the restart count.
func notFound(p *corev1.Pod) {
	p.Status.PodIP = "192.0.2.1"
	s := &p.Status.ContainerStatuses[0]
	s.RestartCount = 1
	s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
}

func TestAContainerThatIsNotFoundCountsOnce(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.BackoffLimit(9))
	lost := append(with(pods[:1], notFound), pods[1])
	d := plan(t, job, kt.At(time.Minute), lost...)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.Equal(t, []string{"StopPod worker-0"}, did(d))
	again := with(pods[:1], notFound, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	})
	for name, first := range map[string]*corev1.Pod{"it waits still": lost[0], "it runs again": again[0]} {
		require.EqualValues(t, 1, plan(t, after(job, d), kt.At(time.Hour), first, pods[1]).Status.DisruptionCount, name)
	}
}

// Whether the pod is replaced or, as by an earlier operator, comes to the barrier: what its code does in the next attempt counts.
func TestTheEndAfterAContainerWasNotFoundCounts(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(9))
	job.Status.JobAttempt, job.Status.DisruptionCount = 1, 1
	job.Status.InPlace = &v1beta1.InPlaceStatus{BarrierTime: &metav1.MicroTime{Time: kt.At(time.Minute)}}
	w := kernel.World{Job: job, Now: kt.At(time.Minute + 5*time.Second), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	w.Pods = append(with(pods[:1], notFound, told(1, 1)), with(pods[1:], told(1, 1))...)
	w.Reports[pods[0].UID] = inplace.Report{Pod: string(pods[0].UID), Attempt: 1, Exits: 1}
	w.Reports[pods[1].UID] = inplace.Report{Pod: string(pods[1].UID), Attempt: 1}
	job = after(job, planWorld(t, w))
	require.EqualValues(t, 1, job.Status.InPlace.StartedJobAttempt)

	ended := with(pods, goes(1, 1))
	startedAgain(2, 3)(ended[0])
	require.EqualValues(t, 1, plan(t, job, kt.At(time.Hour), ended...).Status.BackoffCount)
}

// An exit that nobody saw before the node lost the container, too, is still a failure.
func TestAnExitBeforeTheNodeLostTheContainerCounts(t *testing.T) {
	unknown := func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.LastTerminationState = corev1.ContainerState{}
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}
	}
	keepsLast := func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}
	}
	for name, tc := range map[string]struct {
		lost kt.PodOption
		code string
	}{"its code is known": {keepsLast, "error code 3"}, "nobody knows its code": {unknown, "error code 255"}} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(5))
			pods = with(pods, startedAgain(1, 3), tc.lost)
			d := plan(t, job, kt.At(2*time.Minute), pods...)
			require.Equal(t, []int32{1, 0}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount})
			require.Contains(t, d.Events[0].Message, tc.code)
			job = after(job, d)
			d = plan(t, job, kt.At(3*time.Minute), with(pods, told(1, 0))...)
			require.Equal(t, []int32{1, 1}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount}, "then the loss")
			require.Equal(t, []string{"StopPod worker-0"}, did(d))
		})
	}
}

// The end of a pod that is being deleted is none of its restarts: what the node lost before is.
func TestALossBeforeTheDeletionOfAPodIsNoFailure(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1), kt.InPlace, kt.BackoffLimit(5))
	pods = with(pods, startedAgain(1, 137), func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
		s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, FinishedAt: metav1.NewTime(kt.At(time.Minute))}}
		p.Status.Phase = corev1.PodFailed
	}, kt.Deleted(kt.At(time.Minute), 30*time.Second))
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.Equal(t, []int32{0, 1}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount})
}
