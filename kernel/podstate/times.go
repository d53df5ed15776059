package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// StartedAt returns when the last of the template's containers started, and whether all have started. The time is zero if nobody knows it.
func (p Pod) StartedAt() (last time.Time, all bool) {
	own := p.Status.ContainerStatuses
	if len(own) != len(p.Template.Spec.Containers) { // some are not of the template, or have no status yet
		own = p.own()[0]
	}
	for i := range own { // by index: a status is large
		var at time.Time
		switch s := &own[i].State; {
		case s.Running != nil:
			at = s.Running.StartedAt.Time
		case s.Terminated != nil && !wasNeverMade(&own[i]):
			at = s.Terminated.StartedAt.Time
		default:
			return time.Time{}, false
		}
		if at.After(last) {
			last = at
		}
	}
	return last, len(own) > 0 || p.Status.Phase == corev1.PodRunning
}

// EndedAt returns when the last of the template's containers finished, or its last init container if no container has ended. It is zero if unknown.
func (p Pod) EndedAt() time.Time { return lastEnd(p.own()) }

// DecidedAt returns when the code ended whose exit is the replica's outcome: that of the main container, if one is named. It is zero if unknown. As
// long as that code has not ended, it is when the last init container finished.
func (p Pod) DecidedAt() time.Time { return lastEnd(p.deciding()) }

// CodeEndedAt returns DecidedAt, but zero if nobody knows when the code ended. An init container that has succeeded has not ended it.
func (p Pod) CodeEndedAt() time.Time {
	ends := p.deciding()
	if !slices.ContainsFunc(ends[1], hasFailed) {
		ends[1] = nil
	}
	return lastEnd(ends)
}

// lastEnd returns when the last of some containers finished, or the last of the init containers if none of them has.
func lastEnd(own [2][]corev1.ContainerStatus) (last time.Time) {
	for _, statuses := range own {
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

// BeganAt returns when the container began whose end made the pod fail; zero if unknown.
func (p Pod) BeganAt() time.Time {
	if e := p.exit(); e != nil {
		return e.began
	}
	return time.Time{}
}

// RunsSince returns the earliest time since which code can be running in the pod. That is when the kubelet got the pod, or when a container last
// ended, whichever is later. It is zero if one of the template's containers does not run.
func (p Pod) RunsSince() (since time.Time) {
	for _, c := range p.own()[0] {
		if c.State.Running == nil {
			return time.Time{}
		}
		if last := c.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(since) {
			since = last.FinishedAt.Time
		}
	}
	if t := p.Status.StartTime; t != nil && t.After(since) {
		since = t.Time
	}
	return since
}
