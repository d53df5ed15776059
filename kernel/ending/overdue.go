package ending

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/text"
)

// Node is what a live look has shown of a node.
type Node struct {
	// Answers says that it is Ready, and that nobody has declared it out of service.
	Answers bool
	// SilentSince is when Kubernetes found that its kubelet says nothing any more. SilentSince is zero of a kubelet that speaks, though it may say that
	// its node is not Ready, and of a node that is gone.
	SilentSince time.Time
}

// isLost reports whether nobody will report how a pod ended that is being deleted: nobody waits for its node, or its node does
// not answer. Without our finalizer a pod with no grace period left would be gone already: it never had a node, or
// somebody deleted it by force.
func (j Judge) isLost(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	g := pod.DeletionGracePeriodSeconds
	return j.Overdue(pod) || g != nil && *g == 0
}

// Overdue reports whether a pod is Terminating whose node must be dead. Either that is known, or the pod hangs, and its node is not known to
// answer.
func (j Judge) Overdue(pod *corev1.Pod) bool {
	return j.isGivenUp(pod) || j.Hangs(pod) && !j.Nodes[pod.Spec.NodeName].Answers
}

// Hangs reports whether a pod is Terminating for longer than a node takes that answers.
func (j Judge) Hangs(pod *corev1.Pod) bool {
	return j.ForceReplaceAfter > 0 && pod.DeletionTimestamp != nil && !j.Now.Before(pod.DeletionTimestamp.Add(j.ForceReplaceAfter))
}

// DependsOnNode reports whether the node of a pod has to be looked at, live, to say what the pod means. The pod hangs, or its grace period is over
// and it tells of a lost node.
func (j Judge) DependsOnNode(pod *corev1.Pod) bool { return j.Hangs(pod) || j.mayBeGivenUp(pod) }

// mayBeGivenUp reports whether the grace period of a pod is over that tells of a lost node.
func (j Judge) mayBeGivenUp(pod *corev1.Pod) bool {
	return j.ForceReplaceAfter > 0 && pod.DeletionTimestamp != nil && !j.Now.Before(pod.DeletionTimestamp.Time) && tellsOfLoss(pod)
}

// isGivenUp reports whether a pod is Terminating for which there is nothing more to wait. Its grace period is over. A live look has shown that
// its node is silent, and for as long as the pod tolerates it. A node that answered since, or whose kubelet speaks, ends its pods itself.
func (j Judge) isGivenUp(pod *corev1.Pod) bool {
	since := j.Nodes[pod.Spec.NodeName].SilentSince
	until := deletedAt(pod, since)
	return j.mayBeGivenUp(pod) && !since.IsZero() && !until.IsZero() && !j.Now.Before(until)
}

// givenUpAt is when a pod is given up that is Terminating and tells of a lost node, if the node stays silent. It is zero if the pod never is. A look
// may show later that the node is silent for less long.
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

// nodeInterval is how often to look whether the node of a pod that hangs still answers.
const nodeInterval = time.Minute

// UntilOverdue is how long until a pod that is Terminating may be overdue; 0 if it is, or never will be.
func (j Judge) UntilOverdue(pod *corev1.Pod) time.Duration {
	if j.ForceReplaceAfter <= 0 || j.Overdue(pod) {
		return 0
	}
	wait := nodeInterval
	if !j.Hangs(pod) {
		wait = pod.DeletionTimestamp.Add(j.ForceReplaceAfter).Sub(j.Now)
	}
	if at := j.givenUpAt(pod); tellsOfLoss(pod) && !at.IsZero() {
		if at.After(j.Now) {
			return min(wait, at.Sub(j.Now))
		}
		return min(wait, nodeInterval)
	}
	return wait
}

// onLostNode says of a pod that is Terminating what follows from the loss of its node; "" if that is not lost.
func (j Judge) onLostNode(pod *corev1.Pod) string {
	node, looked := j.Nodes[pod.Spec.NodeName]
	since := lostSince(pod)
	if since.IsZero() || looked && node.SilentSince.IsZero() {
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
