package ending

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Ended reports whether none of the template's containers runs any more, or ever will, and it is known how they ended. Others may still run: sidecars
// that are told to stop when these have ended, and those that admission has added. If nothing else runs, a failure is left to the phase, which comes at
// once. A kubelet that evicts a pod says so with the phase, after all its containers have ended. Beside others a failure is left to the phase only if
// the code exited as it does when it is told to stop (see Remains). What a success means is left to the phase, too: see awaitsPhase.
func (p Pod) Ended() bool {
	switch {
	case IsOver(p.Pod):
		return true
	case !p.allTerminated():
		return false
	case Restarts(p.Pod) && p.exit() != nil: // its container is started again, or else the phase says how it ended
		return false
	default:
		return p.exit() == nil && !p.unknown() || p.othersRun() && !p.mayBeEvicted()
	}
}

// IsOver reports whether nothing runs in a pod any more, or ever will: it uses nothing of a node's.
func IsOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mayBeEvicted reports whether a kubelet may be ending the pod that will only say so when it has.
func (p Pod) mayBeEvicted() bool {
	e := p.exit()
	return e != nil && e.endedByKillSignal() && p.DeletionTimestamp == nil
}

// othersRun reports whether a container runs, or waits to, of a pod of which those of the template have ended.
func (p Pod) othersRun() bool {
	isOn := func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil }
	return slices.ContainsFunc(p.Status.ContainerStatuses, isOn) || slices.ContainsFunc(p.Status.InitContainerStatuses, isOn)
}

// Remains reports whether a container that the template does not have keeps a pod running of which all others have ended. Nothing
// would ever end it.
func (p Pod) Remains() bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && p.allTerminated() &&
		slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil })
}

// allTerminated reports whether each container of the template has ended for good. If the kubelet may start one again, only the
// phase of the pod says how it ended.
func (p Pod) allTerminated() bool {
	if !p.anyTerminated() {
		return false
	}
	own := p.Template.Spec.Containers
	for i := range own {
		s := p.statusOf(own[i].Name)
		if s == nil || s.State.Terminated == nil || own[i].RestartPolicy != nil {
			return false
		}
	}
	return len(own) > 0
}

// anyTerminated reports whether any container has ended. It is asked of every pod that runs, and mostly that is all.
func (p Pod) anyTerminated() bool {
	for i := range p.Status.ContainerStatuses { // by index: a status is large
		if p.Status.ContainerStatuses[i].State.Terminated != nil {
			return true
		}
	}
	return false
}

func (p Pod) statusOf(container string) *corev1.ContainerStatus {
	for i := range p.Status.ContainerStatuses {
		if s := &p.Status.ContainerStatuses[i]; s.Name == container {
			return s
		}
	}
	return nil
}

// main is the name of the container whose exit is the replica's outcome, if the template names one. main is "" if all containers decide.
func (p Pod) main() string {
	name := p.Template.Annotations[v1beta1.AnnotationDefaultContainer]
	if !slices.ContainsFunc(p.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
		return ""
	}
	return name
}

// succeeded reports whether the code of a pod that has ended did its work. What the node or the control plane has ended did not,
// though its code may have exited with 0 because it was told to stop. What had ended before did.
func (p Pod) succeeded() bool {
	switch {
	case p.endedByKubelet():
		return false
	case p.Status.Phase == corev1.PodSucceeded:
		return true
	case !p.allTerminated() || p.exit() != nil || p.unknown():
		return false
	case p.Status.Phase == corev1.PodRunning || p.Status.Reason == "":
		return true
	default:
		target := disruptionTarget(p.Pod)
		return target != nil && p.decidedAt().Before(target.LastTransitionTime.Time)
	}
}

// EndedAt is when the last of the template's containers finished, or, if none has begun, its last init container; zero
// if unknown.
func (p Pod) EndedAt() time.Time {
	var last time.Time
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if t := c.State.Terminated; t != nil && t.FinishedAt.After(last) {
				last = t.FinishedAt.Time
			}
		}
		if !last.IsZero() {
			break
		}
	}
	return last
}

// own are the states of the template's containers and then of its init containers. Sidecars are not among them: they are
// killed when the containers are done, and say nothing. If an init container fails, no container begins.
func (p Pod) own() [2][]corev1.ContainerStatus {
	spec, all := &p.Template.Spec, p.Status.ContainerStatuses
	own := [2][]corev1.ContainerStatus{only(all, spec.Containers), only(p.Status.InitContainerStatuses, spec.InitContainers)}
	if len(all) > 0 && len(own[0]) == 0 { // the template is another than the pod was made from: all count
		return [2][]corev1.ContainerStatus{all, p.Status.InitContainerStatuses}
	}
	return own
}

// decidedAt is when the code ended whose exit is the replica's outcome: that of the main container, if one is named. It is zero if unknown.
func (p Pod) decidedAt() time.Time {
	if s := p.statusOf(p.main()); s != nil && s.State.Terminated != nil {
		return s.State.Terminated.FinishedAt.Time
	}
	return p.EndedAt()
}

// only are the states of these containers, but for sidecars.
func only(statuses []corev1.ContainerStatus, of []corev1.Container) []corev1.ContainerStatus {
	isOwn := func(s corev1.ContainerStatus) bool {
		return slices.ContainsFunc(of, func(c corev1.Container) bool { return c.Name == s.Name && !spec.IsSidecar(&c) })
	}
	if i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return !isOwn(s) }); i < 0 {
		return statuses
	}
	var own []corev1.ContainerStatus
	for _, s := range statuses {
		if isOwn(s) {
			own = append(own, s)
		}
	}
	return own
}

// oomKilled is the kubelet's reason for a container that ran out of its memory limit.
const oomKilled = "OOMKilled"

// exit is how a container ended.
type exit struct {
	container string
	code      int32
	reason    string
	words     string // the last, as the kubelet reports them
}

// inventedReasons are what a node says of a container of whose end it knows nothing. The exit code is made up: no code exited with it. The kubelet
// says the first. containerd says the second, with code 255, after a power failure or a crash of its own.
var inventedReasons = []string{notFound, "Unknown"}

// notFound is the kubelet's reason for a container that ran and that it cannot find any more.
const notFound = "ContainerStatusUnknown"

func invented(t *corev1.ContainerStateTerminated) bool {
	return slices.Contains(inventedReasons, t.Reason)
}

// exit finds the container whose end made the replica fail. That container is the main one, if one is named and has ended. Else it is the first,
// init containers last, that exited with another code than 0. exit is nil if no code of the user's has exited so.
func (p Pod) exit() *exit {
	if s := p.statusOf(p.main()); s != nil && s.State.Terminated != nil {
		return exitOf(*s)
	}
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if e := exitOf(c); e != nil {
				return e
			}
		}
	}
	return nil
}

func exitOf(c corev1.ContainerStatus) *exit {
	t := c.State.Terminated
	if t == nil || t.ExitCode == 0 || invented(t) {
		return nil
	}
	return &exit{container: c.Name, code: t.ExitCode, reason: t.Reason, words: t.Message}
}

// unknown reports whether the end of a container that decides is not known.
func (p Pod) unknown() bool {
	main := p.main()
	return slices.ContainsFunc(p.own()[0], func(c corev1.ContainerStatus) bool {
		return (main == "" || c.Name == main) && c.State.Terminated != nil && invented(c.State.Terminated)
	})
}

// Code is the exit code of a pod that has ended: 1 where it failed, and no code of the user's has exited so.
func (p Pod) Code() int32 {
	if e := p.exit(); e != nil {
		return e.code
	}
	if p.Status.Phase == corev1.PodFailed {
		return 1
	}
	return 0
}

// HasStarted reports whether code of the template's has begun to run in the pod, so far as is known. What admission has added
// is not.
func (p Pod) HasStarted() bool {
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if c.State.Running != nil || c.State.Terminated != nil && !neverMade(&c) || c.LastTerminationState.Terminated != nil || c.RestartCount > 0 {
				return true
			}
		}
	}
	return p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) == 0
}

// neverMade reports whether a container is reported to have ended that was never made. A kubelet that ends a pod calls each container that it does
// not find lost, though it may still have pulled the image.
func neverMade(c *corev1.ContainerStatus) bool {
	t := c.State.Terminated
	return t != nil && t.Reason == notFound && c.ContainerID == "" && c.LastTerminationState.Terminated == nil && c.RestartCount == 0
}

// HasRun reports whether code of the template's runs in the pod, or has run, so far as is known. A program that the node cannot execute has not.
func (p Pod) HasRun() bool {
	ran := func(t *corev1.ContainerStateTerminated) bool { return t != nil && !slices.Contains(starts, t.Reason) }
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if c.State.Running != nil || c.RestartCount > 0 || ran(c.State.Terminated) && !neverMade(&c) || ran(c.LastTerminationState.Terminated) {
				return true
			}
		}
	}
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) == 0
}

// Rejected reports whether a pod has failed before any code of the template's could start. A node did not take it, or what admission
// has added failed.
func (p Pod) Rejected() bool {
	return p.Status.Phase == corev1.PodFailed && !p.HasStarted() && !p.IsRemoved()
}

// StillRuns describes a pod of which one of the template's containers has ended and another runs, and which. The replica is
// finished when the last has ended. The result is "" for other pods.
func (p Pod) StillRuns() string {
	if !p.anyTerminated() {
		return ""
	}
	ended, runs := "", ""
	for _, c := range p.own()[0] {
		switch {
		case c.State.Terminated != nil && ended == "":
			ended = fmt.Sprintf("container %s has exited with code %d", c.Name, c.State.Terminated.ExitCode)
		case c.State.Running != nil && runs == "":
			runs = c.Name
		}
	}
	if ended == "" || runs == "" {
		return ""
	}
	return fmt.Sprintf("Pod[%s]: %s, and container %s still runs: the replica ends with the last container of its template.", p.Name, ended, runs)
}
