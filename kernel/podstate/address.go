package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Address returns the IP address at which a pod can be asked; "" if it must not be asked. A pod in its node's network has the address of the node. By
// such a pod a user could make the operator call any node, even one that the user cannot reach.
func Address(pod *corev1.Pod) string {
	isOfNode := pod.Spec.HostNetwork || pod.Status.PodIP == pod.Status.HostIP ||
		slices.ContainsFunc(pod.Status.HostIPs, func(h corev1.HostIP) bool { return h.IP == pod.Status.PodIP })
	if isOfNode {
		return ""
	}
	return pod.Status.PodIP
}
