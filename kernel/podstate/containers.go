package podstate

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// HasEnded reports whether none of the template's containers runs any more, or ever will, and it is known how they ended. Other containers may still
// run: sidecars, which are told to stop then, and containers that admission has added.
//
// A pod whose containers have all succeeded has ended; but see awaitsPhase. A pod with a failed container mostly has to wait for its phase: a kubelet
// that evicts a pod says so only with the phase. If nothing else runs in the pod, the phase comes at once. If something does, the phase may never
// come (see OnlyAddedRun). Then such a pod waits for its phase only if its code exited as code does that was told to stop.
func (p Pod) HasEnded() bool {
	switch {
	case IsOver(p.Pod):
		return true
	case !p.allTerminated():
		return false
	case RestartsInPlace(p.Pod) && p.exit() != nil: // the kubelet starts the container again, or the phase says how the pod ended
		return false
	default:
		haveSucceeded := p.exit() == nil && !p.isUnknown()
		return haveSucceeded || p.othersRun() && !p.mayBeEvicted()
	}
}

// IsDecided reports whether the code that decides the replica's outcome has ended by now, though it may not be known yet why: see HasEnded. That is
// the main container, if the template names one. Otherwise all containers decide, and one that has failed has done so already. What has ended may be
// started again.
func (p Pod) IsDecided() bool {
	name := p.main()
	switch {
	case p.HasEnded():
		return true
	case name == "":
		return p.allTerminated() || p.exit() != nil
	default:
		main := p.statusOf(name)
		return main != nil && main.State.Terminated != nil || slices.ContainsFunc(p.own()[1], hasFailed)
	}
}

// hasFailed reports whether a container has ended with an exit code of its own other than 0.
func hasFailed(c corev1.ContainerStatus) bool { return exitOf(c) != nil }

// IsOver reports whether nothing runs in a pod any more, or ever will: it uses no resources of a node.
func IsOver(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mayBeEvicted reports whether a kubelet may be evicting the pod: it says so only when all containers have ended.
func (p Pod) mayBeEvicted() bool {
	e := p.exit()
	return e != nil && e.endedByKillSignal() && p.DeletionTimestamp == nil
}

// othersRun reports whether any container runs or waits to run, in a pod whose template's containers have ended.
func (p Pod) othersRun() bool {
	return p.anyContainer(func(s *corev1.ContainerStatus) bool { return s.State.Terminated == nil })
}

// anyContainer reports whether any container of the pod is as asked, init containers and those that admission has added among them.
func (p Pod) anyContainer(is func(*corev1.ContainerStatus) bool) bool {
	for _, statuses := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
		for i := range statuses { // by index: a status is large
			if is(&statuses[i]) {
				return true
			}
		}
	}
	return false
}

// OnlyAddedRun reports whether only a container that the template does not have keeps the pod running. Nothing would ever end it.
func (p Pod) OnlyAddedRun() bool {
	return p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning && p.allTerminated() &&
		slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.State.Terminated == nil })
}

// allTerminated reports whether each container of the template has ended for good. It is false if the kubelet may start one of them again: then only
// the phase of the pod says how the pod ended.
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

// anyTerminated reports whether any container has ended. It is a quick answer for the many pods in which none has.
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

// hasSucceeded reports whether the code of a pod that has ended did its work. It did not if the kubelet or the control plane ended the pod before.
// Code that is told to stop may exit with 0, too.
func (p Pod) hasSucceeded() bool {
	switch {
	case p.endedByKubelet(), p.endedByDeadline(), p.endedByLimit(): // whoever deletes it later
		return false
	case p.Status.Phase == corev1.PodSucceeded:
		return true
	case !p.codeHasEnded() || p.exit() != nil || p.isUnknown():
		return false
	case p.Status.Phase == corev1.PodRunning || p.Status.Reason == "" || p.Status.Reason == deadlineExceeded:
		return true
	}
	if target := disruptionTarget(p.Pod); target != nil {
		return p.DecidedAt().Before(target.LastTransitionTime.Time)
	}
	return p.wasOverItsLimit()
}

// own returns the states of the template's containers, and then those of its init containers, which decide only if no container has begun. Sidecars
// are left out: they are killed when the containers have ended, so their ends say nothing.
func (p Pod) own() [2][]corev1.ContainerStatus {
	template, statuses := &p.Template.Spec, p.Status.ContainerStatuses
	own := [2][]corev1.ContainerStatus{only(statuses, template.Containers), only(p.Status.InitContainerStatuses, template.InitContainers)}
	if len(statuses) > 0 && len(own[0]) == 0 { // the pod was made from another template: all containers count
		return [2][]corev1.ContainerStatus{statuses, p.Status.InitContainerStatuses}
	}
	return own
}

// only returns the states of these containers without sidecars.
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

// HasStarted reports whether code of the template has begun to run in the pod, as far as is known. Containers that admission has added do not count.
func (p Pod) HasStarted() bool {
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if c.State.Running != nil || c.State.Terminated != nil && !wasNeverMade(&c) || c.LastTerminationState.Terminated != nil || c.RestartCount > 0 {
				return true
			}
		}
	}
	return p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) == 0
}

// wasNeverMade reports whether a container that is reported to have ended was never made. A kubelet that ends a pod reports each container that it
// does not find as lost, even one whose image it was still pulling.
func wasNeverMade(c *corev1.ContainerStatus) bool {
	t := c.State.Terminated
	return t != nil && t.Reason == notFound && c.ContainerID == "" && c.LastTerminationState.Terminated == nil && c.RestartCount == 0
}

// HasRun reports whether code of the template runs in the pod, or has run, as far as is known. In contrast to HasStarted, a program that the node
// cannot execute has not run.
func (p Pod) HasRun() bool {
	ran := func(t *corev1.ContainerStateTerminated) bool { return t != nil && !slices.Contains(starts, t.Reason) }
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if c.State.Running != nil || c.RestartCount > 0 || ran(c.State.Terminated) && !wasNeverMade(&c) || ran(c.LastTerminationState.Terminated) {
				return true
			}
		}
	}
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodRunning && len(p.Status.ContainerStatuses) == 0
}

// StillRunsSentence tells of a pod in which one of the template's containers has ended and another one runs. The replica is finished only when the
// last has ended. It returns "" for other pods.
func (p Pod) StillRunsSentence() string {
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

// IsReady reports whether a pod runs, and is Ready by its condition, if it has that. A pod whose container the kubelet is about to start again is not,
// though its phase is Running.
func (p Pod) IsReady() bool {
	if s := p.restarting(); s != nil && s.State.Running == nil {
		return false
	}
	if c := condition(p.Pod, corev1.PodReady); c != nil {
		return c.Status == corev1.ConditionTrue
	}
	return p.Status.Phase == corev1.PodRunning
}
