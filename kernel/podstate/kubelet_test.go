package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// byKubelet is the condition of a pod that its kubelet evicts or preempts, or whose node shuts down. The kubelet dates it when it reports it.
func byKubelet(reported time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		targeted(reported)(p)
		p.Status.Conditions[0].Reason = corev1.PodReasonTerminationByKubelet
	}
}

func phase(is corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = is }
}

// lost is how a kubelet reports a container that it does not find.
func lost() corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
}

func waiting(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
}

// unmade is a pod that was ended while its kubelet pulled the image.
func unmade(p *corev1.Pod) {
	p.Status.Phase = corev1.PodFailed
	p.Status.ContainerStatuses[0].State = lost()
}

// unmadeInit is one that was ended before its init container was there.
func unmadeInit() Pod {
	p := pod(phase(corev1.PodFailed), state(func(s *corev1.ContainerStatus) { s.State = waiting("PodInitializing") }))
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "first", State: lost()}}
	p.Template.Spec.InitContainers = []corev1.Container{{Name: "first"}}
	return p
}

func bare(p *corev1.Pod) { p.Status.ContainerStatuses = nil }

// sidecar is a container beside the template's that has ended after them.
func sidecar(after time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := end(0)
		s.Terminated.FinishedAt = metav1.NewTime(noon.Add(after))
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: s}}
	}
}

// prepared is an init container that admission or the operator has added, and that ended before the code began.
func prepared(p *corev1.Pod) {
	sidecar(-time.Hour)(p)
	p.Status.InitContainerStatuses[0].Name = "wrapper"
}

// withLogger is a pod whose template names its main container, and has another beside it that ends when it is told to stop.
func withLogger(code int32, ends time.Time, edits ...func(*corev1.Pod)) Pod {
	p := pod(append([]func(*corev1.Pod){exited(code, noon), phase(corev1.PodFailed)}, edits...)...)
	p.Template.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "main"}
	p.Template.Spec.Containers = append(p.Template.Spec.Containers, corev1.Container{Name: "logger"})
	p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "logger", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 143, FinishedAt: metav1.NewTime(ends)},
	}})
	return p
}

// The states are those that the kubelet of Kubernetes 1.36 writes: see e2e/simulator/KUBELET.md.
func TestStatesThatOnlyAKubeletShows(t *testing.T) {
	resize := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}}
	}
	for name, tc := range map[string]struct {
		pod  Pod
		want State
	}{
		"evicted, exits with 0, and is called Succeeded":       {pod(exited(0, noon), byKubelet(noon.Add(2*time.Second))), Disrupted},
		"... reported in the same second":                      {pod(exited(0, noon), byKubelet(noon)), Disrupted},
		"... in the second in which its sidecar ends":          {pod(exited(0, noon), sidecar(0), byKubelet(noon)), Disrupted},
		"... and is called Failed":                             {pod(exited(0, noon), reason("Evicted"), byKubelet(noon.Add(5*time.Second))), Disrupted},
		"its node shuts down, and it exits with 0":             {pod(exited(0, noon), reason("Terminated"), byKubelet(noon.Add(2*time.Second))), Disrupted},
		"its sidecar ran on, and may have done so alone":       {pod(exited(0, noon), sidecar(20*time.Second), byKubelet(noon.Add(21*time.Second))), Succeeded},
		"it had done its work long before its node shuts down": {pod(exited(0, noon), sidecar(time.Hour), byKubelet(noon.Add(time.Hour))), Succeeded},
		"nobody knows when it did its work":                    {pod(exited(0, time.Time{}), byKubelet(noon)), Succeeded},
		"evicted through the API after its work":               {pod(exited(0, noon), targeted(noon.Add(time.Second))), Succeeded},
		"evicted after an init container that was added":       {pod(exited(0, noon), prepared, byKubelet(noon.Add(2*time.Second))), Disrupted},
		"... and it restarts in place":                         {wrapped(exited(0, noon), prepared, byKubelet(noon.Add(2*time.Second))), Disrupted},
		"... with a sidecar that ends in the same second":      {pod(exited(0, noon), sidecar(0), byKubelet(noon.Add(2*time.Second))), Disrupted},
		"its main container had done its work long before":     {withLogger(0, noon.Add(time.Hour), reason("Evicted"), byKubelet(noon.Add(time.Hour+2*time.Second))), Succeeded},
		"... reported in the second in which the other ends":   {withLogger(0, noon.Add(time.Hour), reason("Evicted"), byKubelet(noon.Add(time.Hour))), Succeeded},
		"... and the other one was never made":                 {loggerUnmade(withLogger(0, noon, reason("Evicted"), byKubelet(noon.Add(2*time.Second)))), Succeeded},
		"its main container ends with all others":              {withLogger(0, noon, reason("Evicted"), byKubelet(noon.Add(2*time.Second))), Disrupted},
		"its node shuts down, and it exits with 143":           {pod(exited(143, noon), reason("Terminated"), byKubelet(noon.Add(2*time.Second))), Disrupted},
		"the node was shutting down when it came":              {pod(bare, reason("NodeShutdown")), Disrupted},
		"its devices are gone after a reboot":                  {pod(bare, reason("UnexpectedAdmissionError")), Disrupted},
		"Failed, and nothing more":                             {pod(bare, phase(corev1.PodFailed)), Disrupted},
		"ended before its container was made":                  {pod(unmade), Disrupted},
		"ended before its init container was made":             {unmadeInit(), Disrupted},
		"its kubelet has lost the container": {pod(state(func(s *corev1.ContainerStatus) {
			s.State, s.LastTerminationState, s.RestartCount = waiting("ContainerCreating"), lost(), 1
		})), Alive},
		"its image has gone":                  {pod(state(func(s *corev1.ContainerStatus) { s.State = waiting("ErrImageNeverPull") }), phase(corev1.PodPending)), Alive},
		"a key of its ConfigMap is not there": {pod(state(func(s *corev1.ContainerStatus) { s.State = waiting("CreateContainerConfigError") }), phase(corev1.PodPending)), Alive},
		"nobody knows its phase":              {pod(phase(corev1.PodUnknown)), Alive},
		"its resize waits":                    {pod(resize), Alive},
		"its liveness probe has ended it":     {pod(exited(137, noon)), Failed},
		"its init container has failed, and the phase comes later": {pod(phase(corev1.PodPending), state(func(s *corev1.ContainerStatus) {
			s.State = waiting("PodInitializing")
		}), func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "first", State: end(1)}}
		}), Alive},
		"evicted for a limit of its own, and its container is lost": {pod(phase(corev1.PodFailed), reason("Evicted"), state(func(s *corev1.ContainerStatus) {
			s.State, s.LastTerminationState, s.RestartCount = waiting("ContainerCreating"), lost(), 1
		})), Failed},
		"rebooted, and the phase comes later": {pod(state(func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}
		})), Alive},
		"its sidecar is started again": {pod(func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: waiting("CrashLoopBackOff"), LastTerminationState: end(1), RestartCount: 4}}
		}), Alive},
		"a clock went back while it ran": {pod(exited(1, noon), state(func(s *corev1.ContainerStatus) {
			s.State.Terminated.StartedAt = metav1.NewTime(noon.Add(time.Hour))
		})), Failed},
	} {
		t.Run(name, func(t *testing.T) {
			judge := Judge{Now: noon.Add(2 * time.Hour)}
			require.Equal(t, tc.want, judge.Of(tc.pod, &Numbers{}, Replica{}))
			Trim(tc.pod.Pod)
			require.Equal(t, tc.want, judge.Of(tc.pod, &Numbers{}, Replica{}), "a trimmed pod means the same")
		})
	}
}

// A kubelet that ends a pod calls each container lost that it does not find, though it may never have made it.
func TestWhetherCodeHasStartedInAPodThatIsOver(t *testing.T) {
	withID := func(p *corev1.Pod) { p.Status.ContainerStatuses[0].ContainerID = "containerd://1" }
	for name, tc := range map[string]struct {
		pod  Pod
		want bool
	}{
		"the container was not made":           {pod(unmade), false},
		"the init container was not made":      {unmadeInit(), false},
		"a node did not take the pod":          {pod(bare, reason("OutOfcpu")), false},
		"the container was lost when it ran":   {pod(unmade, withID), true},
		"... and had been reported as waiting": {pod(unmade, state(func(s *corev1.ContainerStatus) { s.LastTerminationState = lost() })), true},
		"... and was found to be lost":         {pod(unmade, state(func(s *corev1.ContainerStatus) { s.RestartCount = 1 })), true},
		"the container has ended":              {pod(exited(1, noon)), true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []Pod{tc.pod, {Trim(tc.pod.DeepCopy()), tc.pod.Template}} {
				require.Equal(t, tc.want, p.HasStarted())
				require.Equal(t, tc.want, p.HasRun())
				require.Equal(t, !tc.want, p.WasRejected())
			}
		})
	}
	require.False(t, pod(unmade, deleted(noon, 30)).WasRejected(), "somebody has deleted it: no node has turned it away")
}

// A kubelet that starts again admits its pods anew. It may reject one whose code has failed meanwhile.
func TestARejectionIsADisruptionAfterCodeHasRun(t *testing.T) {
	judge := Judge{Now: noon.Add(time.Hour)}
	for _, rejection := range []string{
		"UnexpectedAdmissionError", "TopologyAffinityError", "SysctlForbidden", "NodeAffinity", "AppArmor", "VolumeAttachmentLimitExceeded", "OutOfcpu",
		"OutOfpods", "OutOfnvidia.com/gpu",
	} {
		require.True(t, IsRejection(rejection), rejection)
		require.Equal(t, Disrupted, judge.Of(pod(exited(1, noon), reason(rejection)), &Numbers{}, Replica{}), rejection)
	}
	for _, other := range []string{"", "Evicted", "NodeShutdown", "DeadlineExceeded", "outOf"} {
		require.False(t, IsRejection(other), other)
	}
	require.Equal(t, Failed, judge.Of(pod(exited(1, noon), reason("Fancy")), &Numbers{}, Replica{}))
}

// A kubelet whose runtime does not know the state of a container any more raises the restart count as it reports that.
func TestALostContainerCountsOnce(t *testing.T) {
	was := func(s *corev1.ContainerStatus) { s.RestartCount, s.LastTerminationState = 3, end(1) }
	for name, tc := range map[string]func(*corev1.ContainerStatus){
		"reported as ended": func(s *corev1.ContainerStatus) { was(s); s.State = lost() },
		"reported as waiting": func(s *corev1.ContainerStatus) {
			was(s)
			s.State, s.LastTerminationState = waiting("ContainerCreating"), lost()
		},
		"started again": func(s *corev1.ContainerStatus) { was(s); s.LastTerminationState = lost() },
	} {
		p := wrapped(state(tc))
		require.Equal(t, 3, p.Exits(), name)
		require.Equal(t, 2, p.ExitsBeforeLoss(), name)
		require.True(t, p.WasLostByNode(), name)
	}
	evicted := wrapped(func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted" },
		state(func(s *corev1.ContainerStatus) { s.RestartCount, s.State = 1, lost() }))
	require.Zero(t, evicted.ExitsBeforeLoss(), "of a pod that is evicted then it does")
	p := wrapped(deleted(noon, 30), state(func(s *corev1.ContainerStatus) { s.RestartCount, s.State = 3, lost() }))
	require.Equal(t, 3, p.Exits(), "of a pod that is being deleted it does not raise the count")
	require.Equal(t, 3, p.ExitsBeforeLoss())
	require.True(t, p.WasLostByNode())
}

// Code that ends at once has its kubelet tell of the end while the phase is Pending still. That means the same as while it is Running.
func TestThePhaseMayComeAfterTheEnd(t *testing.T) {
	judge := Judge{Now: noon.Add(2 * time.Hour)}
	for _, code := range []int32{0, 1, 137, 143} {
		for _, made := range []func(...func(*corev1.Pod)) Pod{pod, wrapped} {
			running, pending := made(exited(code, noon), phase(corev1.PodRunning)), made(exited(code, noon), phase(corev1.PodPending))
			require.Equal(t, judge.Of(running, &Numbers{}, Replica{}), judge.Of(pending, &Numbers{}, Replica{}), "%d", code)
			require.Equal(t, running.HasStarted(), pending.HasStarted())
			require.Equal(t, judge.UntilStranded(running), judge.UntilStranded(pending))
		}
	}
}
