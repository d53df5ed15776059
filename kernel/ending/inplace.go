package ending

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Restarts reports whether the kubelet starts the pod's main container again when it fails: the pod was made to be restarted in place.
// Where a node or an apiserver knows nothing of that, the pod fails instead, as any other.
func Restarts(pod *corev1.Pod) bool {
	_, is := pod.Annotations[inplace.Annotation]
	return is
}

// CanGoOn reports whether code may be run again in a pod.
func CanGoOn(pod *corev1.Pod) bool {
	return Restarts(pod) && pod.DeletionTimestamp == nil && !IsOver(pod)
}

// ofBehind says what a pod means whose code may be of an earlier attempt. If its code has done its work, that is done: it
// is a member of no later attempt, unless its policy is Always.
func (j Judge) ofBehind(p Pod, old bool, m *Numbers, r Replica) Ending {
	switch {
	case m.Order != nil && !r.Always && j.mayHaveWorked(p, old, r.RunsAgain):
		return j.ending(p, old, r.RunsAgain)
	case m.Order != nil && old && !p.Ended():
		return j.ofLiving(p.Pod, old) // it may do its work before it is stopped
	case old || !CanGoOn(p.Pod):
		return Superseded
	default:
		return Behind
	}
}

// ofReplaced says what a pod means that is replaced, alone or with all others. Restarts in place have not helped, or it has not
// stopped in time. Its code may have done its work when that was decided, or may do it before the stop. Then the work counts.
func (j Judge) ofReplaced(pod Pod, r Replica) Ending {
	if !pod.Ended() {
		return j.ofLiving(pod.Pod, true)
	}
	if !r.Always && j.mayHaveWorked(pod, true, r.RunsAgain) {
		return j.ending(pod, true, r.RunsAgain)
	}
	return Superseded
}

// HasCounted reports whether the failure of a pod is among so many counted ends of the container that restarts in place. They were counted
// before the pod had ended, for others ran beside it. Its kubelet does not start containers again.
func (p Pod) HasCounted(exits int) bool {
	s := p.restarting()
	return s != nil && s.State.Terminated != nil && s.State.Terminated.ExitCode != 0 && int(s.RestartCount) < exits
}

// IsRemoved reports whether something outside the job has a pod removed.
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
	last := s.State.Terminated
	if s.State.Waiting != nil { // CrashLoopBackOff: it will be started
		last = s.LastTerminationState.Terminated
	}
	if last != nil && !countsAlready(last) && (s.State.Waiting != nil || p.hasJustEnded(s)) {
		n++
	}
	return n
}

// countsAlready reports whether the kubelet has raised the restart count with the end that it reports, before it starts the container again. The
// kubelet raises it so for a container that it cannot find any more.
func countsAlready(last *corev1.ContainerStateTerminated) bool { return last.Reason == notFound }

// hasJustEnded reports whether the container that restarts in place has ended, and counts although the kubelet has not started it again.
func (p Pod) hasJustEnded(s *corev1.ContainerStatus) bool {
	t := s.State.Terminated
	if t == nil || t.ExitCode == 0 || p.DeletionTimestamp != nil || IsOver(p.Pod) {
		return false
	}
	return invented(t) || !exitOf(*s).endedByKillSignal() && disruptionTarget(p.Pod) == nil
}

const (
	// restartPatience is how long a container that has ended may stay so. A kubelet starts it again within seconds.
	restartPatience = 2 * time.Minute
	// longestBackOff is the longest delay that a kubelet may have for that.
	longestBackOff = 5 * time.Minute
)

// UntilStranded returns how long until a pod is stranded if its container stays ended. It is 0 if the pod is stranded now, and negative if the container
// has not ended. A pod with restartPolicy Never gets no second sandbox. The kubelet ends the containers of a pod that has lost the first, starts none
// again, and still calls the pod Running. A container beside it may take the grace period to end: the kubelet may be evicting the pod.
func (j Judge) UntilStranded(p Pod) time.Duration {
	end, patience := p.endThatStays()
	switch {
	case end == nil, end.FinishedAt.IsZero() && !invented(end):
		return -1
	case end.FinishedAt.IsZero():
		return 0 // its node has rebooted, and does not know when it ended
	}
	if p.othersRunBeside(p.restarting().Name) {
		patience += spec.Grace(p.Template)
	}
	return max(0, end.FinishedAt.Add(patience).Sub(j.Now))
}

// IsStranded reports whether a pod is stranded. If a container that the template does not have runs on, that one is told to end. Then the
// phase says how the pod ended.
func (j Judge) IsStranded(p Pod) bool { return j.UntilStranded(p) == 0 && !p.Remains() }

// endThatStays returns how the container that restarts in place has ended, and how long it may stay so; nil if it has not.
func (p Pod) endThatStays() (*corev1.ContainerStateTerminated, time.Duration) {
	s := p.restarting()
	if s == nil || !CanGoOn(p.Pod) {
		return nil, 0
	}
	switch t, w := s.State.Terminated, s.State.Waiting; {
	case t != nil && t.ExitCode != 0:
		return t, restartPatience
	case w != nil && !slices.Contains(onItsWay, w.Reason):
		return s.LastTerminationState.Terminated, longestBackOff + restartPatience
	default:
		return nil, 0
	}
}

// othersRunBeside reports whether another container of the pod has not ended.
func (p Pod) othersRunBeside(name string) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name != name && c.State.Terminated == nil })
}

// HasCountedLast reports whether the last end of the container that restarts in place is among so many that were counted.
func (p Pod) HasCountedLast(exits int) bool {
	s := p.restarting()
	return s != nil && int(s.RestartCount) < exits
}

// Stranding says of a stranded pod what has become of it.
func (p Pod) Stranding() string {
	return fmt.Sprintf("The container of Pod[%s] has ended, and node %s has not started it again: the pod may have lost its sandbox", p.Name, p.Spec.NodeName)
}

// lastExit returns how the container that restarts in place failed, of the ends that Exits counts the last; nil if it never did. The
// present end may not be among them: that of a pod which is being deleted, say.
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

// AtLastExit is the pod as it was when the container that restarts in place last failed, as if it had ended then. What is said of
// pods that have failed can be said of it.
func (p Pod) AtLastExit() Pod {
	last := p.lastExit()
	if last == nil {
		return p
	}
	s := p.restarting()
	return Pod{p.withState(s.Name, corev1.ContainerState{Terminated: last}, s.LastTerminationState), p.Template}
}

// AtOwnEnd returns the pod as it was when its code last failed, if what ended since was a wrapper that waited. Such a wrapper has no exit code of
// the code's.
func (p Pod) AtOwnEnd() Pod {
	if !p.HasWaited() {
		return p
	}
	s := p.restarting()
	own := Pod{p.withState(s.Name, s.LastTerminationState, corev1.ContainerState{}), p.Template}
	own.Status.Reason = ""
	return own
}

// HasWaited reports whether what ended last in the pod may be a wrapper that waited. Its container was started again after its code had
// failed.
func (p Pod) HasWaited() bool {
	s := p.restarting()
	return s != nil && mayHaveWaited(s.State.Terminated) && p.Status.Reason == deadlineExceeded && exitOf(corev1.ContainerStatus{State: s.LastTerminationState}) != nil
}

// toldBeforeItListened is what a program of Go exits with as process 1 that is told to end in the first moments of its life.
const toldBeforeItListened = 2

// mayHaveWaited reports whether a container has ended as a wrapper does that waits and is told to end.
func mayHaveWaited(t *corev1.ContainerStateTerminated) bool {
	if t == nil {
		return false
	}
	return exitOf(corev1.ContainerStatus{State: corev1.ContainerState{Terminated: t}}).endedByKillSignal() || t.ExitCode == toldBeforeItListened && t.Message == ""
}

// ExitsBeforeLoss returns how often the container that restarts in place had failed when its node lost it.
func (p Pod) ExitsBeforeLoss() int {
	if s := p.restarting(); s.State.Terminated != nil && p.lastExit() == s.State.Terminated && !p.hasJustEnded(s) {
		return p.Exits() // the loss does not count
	}
	return p.Exits() - 1
}

// AtExitBeforeLoss returns the pod as it was when the container that restarts in place failed before its node lost it. What the node no longer
// knows of that end is reported as an exit code of 255, which containerd uses for the same.
func (p Pod) AtExitBeforeLoss() Pod {
	s := p.restarting()
	before := &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Error"}
	if last := s.LastTerminationState.Terminated; last != nil && !invented(last) {
		before = last
	}
	return Pod{p.withState(s.Name, corev1.ContainerState{Terminated: before}, corev1.ContainerState{}), p.Template}
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

// LostByNode reports whether the node knows nothing of how the container that restarts in place last ended, as after a reboot. Then
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
