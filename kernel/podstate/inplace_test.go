package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// wrapped is a running pod that restarts in place, and was told of attempt 1.
func wrapped(edits ...func(*corev1.Pod)) Pod {
	order := func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.Annotation: inplace.Order{Attempt: 1, Go: 1}.String()}
	}
	return pod(append([]func(*corev1.Pod){order}, edits...)...)
}

// state changes the status of the container.
func state(edit func(*corev1.ContainerStatus)) func(*corev1.Pod) {
	return func(p *corev1.Pod) { edit(&p.Status.ContainerStatuses[0]) }
}

func end(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: metav1.NewTime(noon), FinishedAt: metav1.NewTime(noon.Add(time.Minute))}}
}

func TestExitsInPlace(t *testing.T) {
	again := state(func(s *corev1.ContainerStatus) { s.RestartCount, s.LastTerminationState = 2, end(3) })
	for name, test := range map[string]struct {
		pod  Pod
		want int
	}{
		"none":                        {wrapped(), 0},
		"started again":               {wrapped(again), 2},
		"failed, and not started yet": {wrapped(again, state(func(s *corev1.ContainerStatus) { s.State = end(1) })), 3},
		"backs off": {wrapped(again, state(func(s *corev1.ContainerStatus) {
			s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		})), 3},
		"has succeeded":                 {wrapped(again, state(func(s *corev1.ContainerStatus) { s.State = end(0) })), 2},
		"the pod has failed":            {wrapped(again, exited(1, noon)), 2},
		"told to end":                   {wrapped(again, state(func(s *corev1.ContainerStatus) { s.State = end(143) })), 2},
		"is being deleted":              {wrapped(again, deleted(noon, 30), state(func(s *corev1.ContainerStatus) { s.State = end(1) })), 2},
		"is not restarted in its place": {pod(again), 0},
	} {
		require.Equal(t, test.want, test.pod.Exits(), name)
		require.Equal(t, test.want, Pod{Trim(test.pod.Pod), test.pod.Template}.Exits(), name+", trimmed")
	}
	last := wrapped(again).AtLastExit()
	require.EqualValues(t, 3, last.Code())
}

// A report of a held end may come after the kubelet's own word on it, which counts.
func TestAnEndThatTheKubeletHasToldIsNotHeld(t *testing.T) {
	told := &inplace.End{Code: 3}
	require.EqualValues(t, 3, Pod{wrapped().WithEnd(told), wrapped().Template}.AtLastExit().Code())
	for name, p := range map[string]Pod{
		"ended":           wrapped(state(func(s *corev1.ContainerStatus) { s.State = end(1) })),
		"backs off":       wrapped(state(func(s *corev1.ContainerStatus) { s.State, s.LastTerminationState = waiting("CrashLoopBackOff"), end(1) })),
		"of another kind": pod(),
	} {
		require.Same(t, p.Pod, p.WithEnd(told), name)
	}
}

func TestWhatAPodInPlaceMeans(t *testing.T) {
	failed := state(func(s *corev1.ContainerStatus) { s.RestartCount, s.LastTerminationState = 1, end(3) })
	numbers := func(p Pod) *Numbers { return &Numbers{Order: NumbersOf(p.Pod).Order} }
	for name, test := range map[string]struct {
		pod  Pod
		r    Replica
		want State
	}{
		"it runs what it shall":                            {wrapped(), Replica{Attempt: 1, BarrierIsOpen: true}, Alive},
		"it has failed":                                    {wrapped(failed), Replica{Attempt: 1, BarrierIsOpen: true}, FailedInPod},
		"that was counted":                                 {wrapped(failed), Replica{Attempt: 1, BarrierIsOpen: true, Exits: 1}, Alive},
		"it was not told yet":                              {wrapped(failed), Replica{Attempt: 2, BarrierIsOpen: true}, Behind},
		"others are waited for":                            {wrapped(failed), Replica{Attempt: 2}, Behind},
		"it is to be replaced":                             {wrapped(failed), Replica{Attempt: 2, BarrierIsOpen: true, Obsolete: true, InPlace: true}, Unwanted},
		"all are to be replaced":                           {wrapped(failed), Replica{Attempt: 2, Obsolete: true, InPlace: true}, Unwanted},
		"all are to be replaced, and it has succeeded":     {wrapped(exited(0, noon)), Replica{Attempt: 2, Obsolete: true, InPlace: true}, Succeeded},
		"it has succeeded, before it was told":             {wrapped(exited(0, noon)), Replica{Attempt: 2}, Succeeded},
		"it has succeeded, and its policy is Always":       {wrapped(exited(0, noon)), Replica{Attempt: 2, Always: true}, Superseded},
		"it has failed for good, before it was told":       {wrapped(exited(1, noon)), Replica{Attempt: 2}, Superseded},
		"it is being deleted, and was not told of the end": {wrapped(deleted(noon, 30)), Replica{Attempt: 2}, Superseded},
	} {
		require.Equal(t, test.want, Judge{Now: noon}.Of(test.pod, numbers(test.pod), test.r), name)
	}
}

// A node that has rebooted does not know when the container ended. A barrier may have taken that end for one of an earlier start.
func TestAnEndOfUnknownTimeIsThatOfAPodWithoutASandbox(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	pod.Annotations = map[string]string{inplace.Annotation: ""}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	for name, tc := range map[string]struct {
		state corev1.ContainerState
		want  time.Duration
	}{
		"the node does not know": {corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}, 0},
		"nobody says when":       {corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}, -1},
		"it runs":                {corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, -1},
	} {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: tc.state}}
		require.Equal(t, tc.want, Judge{Now: time.Unix(9, 0)}.UntilStranded(Pod{Pod: pod, Template: template}), name)
	}
}

// After the last failure of a job the container that was started again has only waited. It is told to end: by SIGTERM, by SIGKILL, or before it
// listens, which Go answers with 2.
func TestTheOwnEndOfCodeIsNotThatOfAWrapperThatWaited(t *testing.T) {
	waited := func(code int32, words string) Pod {
		return wrapped(exited(code, noon), reason("DeadlineExceeded"), state(func(s *corev1.ContainerStatus) {
			s.LastTerminationState, s.State.Terminated.Message = end(3), words
		}))
	}
	for name, tc := range map[string]struct {
		pod  Pod
		want int32
	}{
		"SIGTERM":                        {waited(143, "attempt 2 had ended with exit code 3"), 3},
		"SIGKILL":                        {waited(137, ""), 3},
		"before it listens":              {waited(2, ""), 3},
		"code that says something":       {waited(2, "usage: train.py"), 2},
		"code that ends by itself":       {waited(1, ""), 1},
		"nobody has told it to end":      {wrapped(exited(143, noon), state(func(s *corev1.ContainerStatus) { s.LastTerminationState = end(3) })), 143},
		"it is the first end of the pod": {wrapped(exited(143, noon), reason("DeadlineExceeded")), 143},
	} {
		require.Equal(t, tc.want, tc.pod.AtOwnEnd().Code(), name)
		require.Equal(t, tc.want == 3, tc.pod.HasWaited(), name)
		require.Equal(t, tc.want, Pod{Trim(tc.pod.Pod), tc.pod.Template}.AtOwnEnd().Code(), name+", trimmed")
	}
}

// Another container may have failed long ago. It did not end the replica.
func TestTheMainContainerSaysWhenCodeBegan(t *testing.T) {
	began := noon.Add(time.Hour)
	p := pod(func(p *corev1.Pod) {
		agent := corev1.ContainerStatus{Name: "agent", State: end(1)}
		code := corev1.ContainerStatus{Name: "main", State: end(2)}
		code.State.Terminated.StartedAt = metav1.NewTime(began)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{agent, code}
	})
	p.Template.Spec.Containers = []corev1.Container{{Name: "agent"}, {Name: "main"}}
	p.Template.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "main"}
	require.EqualValues(t, 2, p.Code())
	require.Equal(t, began, p.BeganAt())
}
