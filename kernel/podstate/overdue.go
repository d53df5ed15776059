package podstate

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/text"
)

// Node is the state of a node that was read live.
type Node struct {
	// Answers says that the node is Ready, and that nobody has declared it out of service.
	Answers bool
	// SilentSince is when Kubernetes found that the node's kubelet says nothing any more. It is zero for a node that is gone, and for a kubelet that
	// speaks, even if it says that the node is not Ready.
	SilentSince time.Time
	// Assumed says that nobody has looked at the node, so that it is only taken to answer.
	Assumed bool
	// Forbidden says that the operator may not read nodes, so that each is taken to answer.
	Forbidden bool
}

// isLost reports whether nobody will report how a pod that is being deleted ended. Either its node does not answer, or it has no grace period left.
// Then only our finalizer keeps the pod: it never had a node, or somebody deleted it by force.
func (j Judge) isLost(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	g := pod.DeletionGracePeriodSeconds
	return j.IsOverdue(pod) || g != nil && *g == 0
}

// IsOverdue reports whether a Terminating pod must have a dead node. Either its node is known to be lost, or the pod hangs and its node is not known
// to answer.
func (j Judge) IsOverdue(pod *corev1.Pod) bool {
	return j.isGivenUp(pod) || j.IsStuckTerminating(pod) && !j.Nodes[pod.Spec.NodeName].Answers
}

// NeedsForce reports whether a Terminating pod is overdue, and only goes if somebody deletes it by force.
func (j Judge) NeedsForce(pod *corev1.Pod) bool {
	return j.IsOverdue(pod) && (pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > 0)
}

// IsStuckTerminating reports whether a pod has been Terminating for longer than a node that answers would take.
func (j Judge) IsStuckTerminating(pod *corev1.Pod) bool {
	return j.ForceReplaceAfter > 0 && pod.DeletionTimestamp != nil && !j.Now.Before(pod.DeletionTimestamp.Add(j.ForceReplaceAfter))
}

// DependsOnNode reports whether the pod's node must be read live to say what the pod means. The pod hangs, or its grace period is over and it shows
// that its node may be lost.
func (j Judge) DependsOnNode(pod *corev1.Pod) bool {
	return j.IsStuckTerminating(pod) || j.mayBeGivenUp(pod)
}

// mayBeGivenUp reports whether a pod shows that its node may be lost, and its grace period is over.
func (j Judge) mayBeGivenUp(pod *corev1.Pod) bool {
	return j.ForceReplaceAfter > 0 && pod.DeletionTimestamp != nil && !j.Now.Before(pod.DeletionTimestamp.Time) && showsNodeLoss(pod)
}

// isGivenUp reports whether there is nothing more to wait for in a Terminating pod. Its grace period is over, and a live look has shown that its node
// has been silent for as long as the pod tolerates. A node that has answered since, or whose kubelet speaks, ends its pods itself.
func (j Judge) isGivenUp(pod *corev1.Pod) bool {
	since := j.Nodes[pod.Spec.NodeName].SilentSince
	until := deletedAt(pod, since)
	return j.mayBeGivenUp(pod) && !since.IsZero() && !until.IsZero() && !j.Now.Before(until)
}

// givenUpAt returns when a Terminating pod that tells of a lost node is given up, if the node stays silent; zero if it never is. A later look may
// show that the node has been silent for less time.
func (j Judge) givenUpAt(pod *corev1.Pod) time.Time {
	since := j.Nodes[pod.Spec.NodeName].SilentSince
	if since.IsZero() {
		since = lostSince(pod)
	}
	switch until := deletedAt(pod, since); {
	case until.IsZero():
		return time.Time{}
	case until.After(pod.DeletionTimestamp.Time):
		return until
	default:
		return pod.DeletionTimestamp.Time
	}
}

// NodeInterval is how often to look whether the node of a pod that hangs still answers.
const NodeInterval = time.Minute

// UntilOverdue returns how long until a Terminating pod may be overdue; 0 if it is already, or never will be.
func (j Judge) UntilOverdue(pod *corev1.Pod) time.Duration {
	if j.ForceReplaceAfter <= 0 || j.IsOverdue(pod) {
		return 0
	}
	wait := NodeInterval
	if !j.IsStuckTerminating(pod) {
		wait = pod.DeletionTimestamp.Add(j.ForceReplaceAfter).Sub(j.Now)
	}
	if at := j.givenUpAt(pod); showsNodeLoss(pod) && !at.IsZero() {
		if at.After(j.Now) {
			return min(wait, at.Sub(j.Now))
		}
		return min(wait, NodeInterval)
	}
	return wait
}

// onLostNode says what follows for a Terminating pod if its node is lost; "" if the node is not lost.
func (j Judge) onLostNode(pod *corev1.Pod) string {
	node, looked := j.Nodes[pod.Spec.NodeName]
	since := lostSince(pod)
	if since.IsZero() || looked && !node.Assumed && node.SilentSince.IsZero() {
		return ""
	}
	out := fmt.Sprintf(", and node %s is not Ready since %s", pod.Spec.NodeName, text.Time(since))
	if j.ForceReplaceAfter <= 0 {
		return out
	}
	at := pod.DeletionTimestamp.Add(j.ForceReplaceAfter)
	if given := j.givenUpAt(pod); !given.IsZero() && given.Before(at) {
		at = given
	}
	return out + fmt.Sprintf(": if the node stays so, the operator deletes the pod by force from %s on", text.Time(at))
}
