package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/inplace"
)

// The ends of a container that restarts in place. A kubelet tells them by three fields: RestartCount, State and LastTerminationState (LastState
// below). What they mean also depends on the pod. Each function of this file answers one question about them. This is how they answer if the order is
// of this attempt:
//
//	RestartCount  State      LastState  the pod     Exits  lastExit   so the pod is  once they are counted
//	0             runs       -          lives       0      none       Alive          Alive
//	0             failed     -          lives       1      State      FailedInPod    Alive
//	0             failed     -          is deleted  0      State      Terminating    Terminating
//	0             failed     -          has failed  0      State      Failed         Failed
//	0             killed     -          lives       0      State      Alive          Alive
//	0             killed     -          has failed  0      State      Failed         Failed
//	0             backs off  failed     lives       1      LastState  FailedInPod    Alive
//	1             runs       failed     lives       1      LastState  FailedInPod    Alive
//	1             runs       failed     is deleted  1      LastState  FailedInPod    Terminating
//	1             failed     failed     lives       2      State      FailedInPod    Alive
//	1             failed     failed     is deleted  1      LastState  FailedInPod    Terminating
//	1             failed     failed     has failed  1      LastState  FailedInPod    Failed
//	1             killed     failed     lives       1      LastState  FailedInPod    Alive
//	1             backs off  failed     lives       2      LastState  FailedInPod    Alive
//	1             lost       -          lives       1      State      FailedInPod    Stranded
//	1             lost       failed     lives       1      State      FailedInPod    Stranded
//	1             lost       failed     is deleted  1      LastState  FailedInPod    Terminating
//
// A container that "failed" has exited with another code than 0, and one that was "killed" with that of SIGTERM or SIGKILL. One that was "lost" is
// not known to its kubelet any more. Exits leaves out what may yet turn out to be an eviction. For the rest there are these functions:
//
//   - hasJustEnded: does the end in State count, though RestartCount does not have it? countsAlready: has RestartCount counted it already?
//   - HasCounted and HasCountedLast: is the failure of the pod, or the last end, among the counted ones?
//   - UntilStranded (stranded.go): how long may the container stay ended?
//   - ExitsBeforeLoss and AtExitBeforeLoss: what was before a node lost the container?
//   - HasWaited and AtOwnEnd: is the last end that of a wrapper that only waited, and how had the code ended?

// RestartsInPlace reports whether the kubelet starts the pod's main container again when it fails: the pod was made to be restarted in place.
// Where a node or an apiserver knows nothing of that, the pod fails instead, as any other.
func RestartsInPlace(pod *corev1.Pod) bool {
	_, ok := pod.Annotations[inplace.Annotation]
	return ok
}

// CanGoOn reports whether code may be run again in a pod.
func CanGoOn(pod *corev1.Pod) bool {
	return RestartsInPlace(pod) && pod.DeletionTimestamp == nil && !IsOver(pod)
}

// ofBehind says what a pod means whose code may be of an earlier attempt. If the code has done its work, that counts, and the replica takes part in no
// later attempt; unless its policy is Always.
func (j Judge) ofBehind(p Pod, numbers *Numbers, isToStop bool, r Replica) State {
	switch {
	case numbers.Order != nil && !r.Always && j.mayHaveWorked(p, isToStop, r.RunsAgain):
		return j.ofEnded(p, isToStop, r.RunsAgain)
	case numbers.Order != nil && isToStop && !p.HasEnded():
		return j.ofLiving(p.Pod, isToStop) // it may do its work before it is stopped
	case isToStop || !CanGoOn(p.Pod):
		return Superseded
	default:
		return Behind
	}
}

// ofObsolete says what a pod means that is to be replaced, alone or with all others. Restarts in place have not helped, or it has not stopped in
// time. If its code has done its work all the same, or does it before the stop, the work counts.
func (j Judge) ofObsolete(p Pod, r Replica) State {
	switch {
	case !r.Always && j.mayHaveWorked(p, true, r.RunsAgain):
		return j.ofEnded(p, true, r.RunsAgain)
	case !p.HasEnded():
		return j.ofLiving(p.Pod, true)
	default:
		return Superseded
	}
}

// HasCounted reports whether the failure of a pod is one of the counted ends of its container that restarts in place. Exits is how many are counted.
// The failure is one of them if the end was counted while other containers still ran, and the kubelet does not start the container again.
func (p Pod) HasCounted(exits int) bool {
	s := p.restarting()
	return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 && int(s.RestartCount) < exits
}

// IsRemoved reports whether the pod is being deleted, or Kubernetes has said that it ends the pod.
func (p Pod) IsRemoved() bool { return p.DeletionTimestamp != nil || disruptionTarget(p.Pod) != nil }

// restarting returns the state of the container that restarts in place; nil if the pod has none, or its state is not known yet.
func (p Pod) restarting() *corev1.ContainerStatus {
	if !RestartsInPlace(p.Pod) {
		return nil
	}
	if s := p.statusOf(p.main()); s != nil || len(p.Template.Spec.Containers) == 0 {
		return s
	}
	return p.statusOf(p.Template.Spec.Containers[0].Name)
}

// Exits returns how often the container that restarts in place has failed in this pod, as far as that is certain. A kubelet that evicts a pod ends its
// containers before it says why. So an end that looks like this counts only when the kubelet starts the container again.
func (p Pod) Exits() int {
	s := p.restarting()
	if s == nil {
		return 0
	}
	n := int(s.RestartCount)
	last := s.State.Terminated
	if s.State.Waiting != nil { // CrashLoopBackOff: it will be started
		last = s.LastTerminationState.Terminated
	}
	if last != nil && !countsAlready(last) && (s.State.Waiting != nil || p.hasJustEnded(s)) {
		n++
	}
	return n
}

// countsAlready reports whether the restart count includes an end already, though the kubelet has not started the container again. It does so for a
// container that the kubelet cannot find any more, unless the pod is being deleted. Source: convertToAPIContainerStatuses in pkg/kubelet of
// Kubernetes.
func countsAlready(last *corev1.ContainerStateTerminated) bool { return last.Reason == notFound }

// hasJustEnded reports whether the container that restarts in place has ended, and this end counts though the kubelet has not started it again.
func (p Pod) hasJustEnded(s *corev1.ContainerStatus) bool {
	t := s.State.Terminated
	if t == nil || t.ExitCode == 0 || p.DeletionTimestamp != nil || IsOver(p.Pod) {
		return false
	}
	return isInvented(t) || !exitOf(*s).endedByKillSignal() && disruptionTarget(p.Pod) == nil
}

// HasCountedLast reports whether the last end of the container that restarts in place is one of the counted ends. Exits is how many are counted.
func (p Pod) HasCountedLast(exits int) bool {
	s := p.restarting()
	return s != nil && int(s.RestartCount) < exits
}

// lastExit returns the last failure that Exits counts. The end that the state shows may not count: for example, in a pod that is being deleted. It is
// returned all the same if there was none before. lastExit returns nil if the container has not failed at all.
func (p Pod) lastExit() *corev1.ContainerStateTerminated {
	s := p.restarting()
	switch {
	case s == nil:
		return nil
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 && (p.hasJustEnded(s) || s.LastTerminationState.Terminated == nil):
		return s.State.Terminated
	default:
		return s.LastTerminationState.Terminated
	}
}

// AtLastExit returns the pod as if it had failed when its container that restarts in place last failed. So the methods for failed pods apply to it.
func (p Pod) AtLastExit() Pod {
	last := p.lastExit()
	if last == nil {
		return p
	}
	s := p.restarting()
	return Pod{p.withState(s.Name, corev1.ContainerState{Terminated: last}, s.LastTerminationState), p.Template}
}

// AtOwnEnd returns the pod as it was when its code last failed, if only a waiting wrapper has ended since. The exit code of such a wrapper says
// nothing of the code.
func (p Pod) AtOwnEnd() Pod {
	if !p.HasWaited() {
		return p
	}
	s := p.restarting()
	own := Pod{p.withState(s.Name, s.LastTerminationState, corev1.ContainerState{}), p.Template}
	own.Status.Reason = ""
	return own
}

// HasWaited reports whether the last end in the pod may be that of a waiting wrapper. Its container was started again after its code had failed.
func (p Pod) HasWaited() bool {
	s := p.restarting()
	return s != nil && mayHaveWaited(s.State.Terminated) && p.Status.Reason == deadlineExceeded && exitOf(corev1.ContainerStatus{State: s.LastTerminationState}) != nil
}

// toldBeforeItListened is the exit code of a Go program that, as process 1, is told to end before it handles signals.
const toldBeforeItListened = 2

// mayHaveWaited reports whether a container has ended the way a waiting wrapper ends when it is told to.
func mayHaveWaited(t *corev1.ContainerStateTerminated) bool {
	if t == nil {
		return false
	}
	return exitOf(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: t}}).endedByKillSignal() || t.ExitCode == toldBeforeItListened && t.Message == ""
}

// ExitsBeforeLoss returns how often the container that restarts in place had failed when its node lost it.
func (p Pod) ExitsBeforeLoss() int {
	s := p.restarting()
	if t := s.State.Terminated; t != nil && p.lastExit() == t && !p.hasJustEnded(s) && (p.DeletionTimestamp != nil || !countsAlready(t)) {
		return p.Exits() // the loss does not count
	}
	return p.Exits() - 1
}

// AtExitBeforeLoss returns the pod as it was when the container that restarts in place failed, before its node lost it. If the node does not know
// that end any more, the exit code is 255, which containerd uses for such ends, too.
func (p Pod) AtExitBeforeLoss() Pod {
	s := p.restarting()
	before := &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Error"}
	if last := s.LastTerminationState.Terminated; last != nil && !isInvented(last) {
		before = last
	}
	return Pod{p.withState(s.Name, corev1.ContainerState{Terminated: before}, corev1.ContainerState{}), p.Template}
}

// WithEnd returns the pod as if the end of its code, which its wrapper reports, had ended the container that restarts in place. A kubelet would tell
// it so.
func (p Pod) WithEnd(end *inplace.End) *corev1.Pod {
	s := p.restarting()
	if s == nil || s.State.Running == nil {
		return p.Pod
	}
	last := &corev1.ContainerStateTerminated{
		ExitCode: end.Code, Reason: "Error", Message: end.Message, StartedAt: metav1.NewTime(end.Began), FinishedAt: metav1.NewTime(end.Ended),
	}
	return p.withState(s.Name, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, corev1.ContainerState{Terminated: last})
}

// withState returns a copy of the pod with other states of one container.
func (p Pod) withState(name string, now, last corev1.ContainerState) *corev1.Pod {
	pod := *p.Pod
	pod.Status.ContainerStatuses = slices.Clone(pod.Status.ContainerStatuses)
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == name {
			s.State, s.LastTerminationState = now, last
		}
	}
	return &pod
}

// IsWrapped reports whether a wrapper runs the pod's code, so that it can be asked for reports.
func IsWrapped(pod *corev1.Pod) bool {
	return RestartsInPlace(pod) || slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == inplace.Volume })
}
