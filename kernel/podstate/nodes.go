package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// ownReasons are the reasons by which a kubelet rejects a pod that another node might take; for example, it cannot provide a device. Its other reasons
// tell of room that was taken meanwhile, or of a pod that was not meant for the node.
var ownReasons = []string{"UnexpectedAdmissionError", "TopologyAffinityError", "SysctlForbidden"}

// RejectedByNode reports whether a kubelet has rejected a pod for a reason that lies in its node.
func (p Pod) RejectedByNode() bool {
	return p.Rejected() && slices.Contains(ownReasons, p.Status.Reason)
}

// IsUnschedulable reports whether a scheduler has found no node for a pod.
func IsUnschedulable(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodScheduled)
	return pod.DeletionTimestamp == nil && !Scheduled(pod) && c != nil && c.Status == corev1.ConditionFalse && c.Reason != corev1.PodReasonSchedulingGated
}
