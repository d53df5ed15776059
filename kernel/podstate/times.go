package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
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
		case s.Terminated != nil && !neverMade(&own[i]):
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

// SilentFor returns how long code had shown no sign of life when it was found to hang; 0 for other failures.
func SilentFor(f *v1beta1.ReplicaFailure) time.Duration {
	if !Hung(f) {
		return 0
	}
	return output.Silence(f.Message)
}

// LostItsNode reports whether the pod ended because its node was lost: the node was not Ready, or it does not know how the pod ended.
func (p Pod) LostItsNode() bool { return showsNodeLoss(p.Pod) || p.LostByNode() || p.unknown() }

// LostSince returns when the node controller found that the pod's node was not Ready; zero if it did not.
func (p Pod) LostSince() time.Time { return lostSince(p.Pod) }
