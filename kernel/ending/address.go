package ending

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Address is where a pod can be asked; "" if nowhere. That of a pod in its node's network is the node's own. Who may create such a pod
// could have the operator, which may reach more than he, call on any node.
func Address(pod *corev1.Pod) string {
	isNodes := pod.Spec.HostNetwork || pod.Status.PodIP == pod.Status.HostIP ||
		slices.ContainsFunc(pod.Status.HostIPs, func(h corev1.HostIP) bool { return h.IP == pod.Status.PodIP })
	if isNodes {
		return ""
	}
	return pod.Status.PodIP
}
