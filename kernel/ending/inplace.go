package ending

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Restarts says whether the kubelet starts the pod's main container again when it fails: the pod was made to be restarted in place.
// Where a node or an apiserver knows nothing of that, the pod fails instead, as any other.
func Restarts(pod *corev1.Pod) bool {
	_, is := pod.Annotations[inplace.Annotation]
	return is
}

// CanGoOn says whether code may be run again in a pod.
func CanGoOn(pod *corev1.Pod) bool {
	return Restarts(pod) && pod.DeletionTimestamp == nil && !IsOver(pod)
}

// ofBehind says what a pod means whose code may be of an earlier attempt. If its code has done its work, that is done: it
// is a member of no later attempt, unless its policy is Always.
func (j Judge) ofBehind(p Pod, old bool, m Marks, r Replica) Ending {
	switch {
	case m.Order != nil && !r.Always && p.didItsWork(old, r.Again):
		return Succeeded
	case m.Order != nil && old && !p.Ended():
		return j.ofLiving(p.Pod, old) // it may do its work before it is stopped
	case old || !CanGoOn(p.Pod):
		return Garbage
	default:
		return Behind
	}
}

// ofReplaced says what a pod means that is replaced, alone or with all others, because restarts in place have not helped or it has not
// stopped in time. It may have done its work when that was decided, or does before it is stopped: then that is done.
func (j Judge) ofReplaced(pod Pod, r Replica) Ending {
	if !pod.Ended() {
		return j.ofLiving(pod.Pod, true)
	}
	if !r.Always && pod.ending(true, r.Again) == Succeeded {
		return Succeeded
	}
	return Garbage
}

// HasCounted says whether the failure of a pod is among so many ends of the container that restarts in place which were counted before
// the pod had ended, for others ran beside it: its kubelet does not start containers again.
func (p Pod) HasCounted(exits int) bool {
	s := p.restarting()
	return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 && int(s.RestartCount) < exits
}

// IsRemoved says whether something outside the job has a pod removed.
func (p Pod) IsRemoved() bool { return p.DeletionTimestamp != nil || disruptionTarget(p.Pod) != nil }

// restarting is the state of the container that restarts in place; nil if the pod has none, or it was not seen yet.
func (p Pod) restarting() *corev1.ContainerStatus {
	if !Restarts(p.Pod) {
		return nil
	}
	if s := p.statusOf(p.main()); s != nil || len(p.Template.Spec.Containers) == 0 {
		return s
	}
	return p.statusOf(p.Template.Spec.Containers[0].Name)
}

// Exits is how often the container that restarts in place has failed in this pod, so far as that is certain. A kubelet that evicts a
// pod ends its containers before it says why: an end like that counts when the container is started again.
func (p Pod) Exits() int {
	s := p.restarting()
	if s == nil {
		return 0
	}
	n := int(s.RestartCount)
	switch w, t := s.State.Waiting, s.State.Terminated; {
	case w != nil && s.LastTerminationState.Terminated != nil: // CrashLoopBackOff: it will be started
		n++
	case t != nil && t.ExitCode != 0 && p.DeletionTimestamp == nil && !IsOver(p.Pod) && !invented(t) && !exitOf(*s).obeys() && disruptionTarget(p.Pod) == nil:
		n++
	}
	return n
}

// lastExit is how the container that restarts in place last failed; nil if it never did.
func (p Pod) lastExit() *corev1.ContainerStateTerminated {
	s := p.restarting()
	switch {
	case s == nil:
		return nil
	case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
		return s.State.Terminated
	default:
		return s.LastTerminationState.Terminated
	}
}

// AtLastExit is the pod as it was when the container that restarts in place last failed, as if it had ended then: what is told of
// pods that have failed can be told of it.
func (p Pod) AtLastExit() Pod {
	last := p.lastExit()
	if last == nil {
		return p
	}
	s := p.restarting()
	return Pod{p.withState(s.Name, corev1.ContainerState{Terminated: last}, s.LastTerminationState), p.Template}
}

// Holding is the pod as it would be if its code, which has ended so, had ended the container that restarts in place.
func (p Pod) Holding(end corev1.ContainerStateTerminated) *corev1.Pod {
	s := p.restarting()
	if s == nil || s.State.Running == nil {
		return p.Pod
	}
	return p.withState(s.Name, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}, corev1.ContainerState{Terminated: &end})
}

// withState is the pod with another state of a container.
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

// LostByNode says whether the node knows nothing of how the container that restarts in place last ended, as after a crash of its own:
// no code of the user's has exited so.
func (p Pod) LostByNode() bool {
	last := p.lastExit()
	return last != nil && invented(last)
}

// LivedAtLastExit is for how long the container had run that restarts in place when it last failed; 0 if unknown.
func (p Pod) LivedAtLastExit() time.Duration {
	last := p.lastExit()
	if last == nil || last.StartedAt.IsZero() {
		return 0
	}
	return max(0, last.FinishedAt.Sub(last.StartedAt.Time))
}
