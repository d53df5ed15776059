package ending

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Address is where a pod can be asked; "" if nowhere. A pod in its node's network has the node's own address. Whoever may create such a pod could
// have the operator call on any node, and the operator may reach nodes that this user cannot.
func Address(pod *corev1.Pod) string {
	isNodes := pod.Spec.HostNetwork || pod.Status.PodIP == pod.Status.HostIP ||
		slices.ContainsFunc(pod.Status.HostIPs, func(h corev1.HostIP) bool { return h.IP == pod.Status.PodIP })
	if isNodes {
		return ""
	}
	return pod.Status.PodIP
}
