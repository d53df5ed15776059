package tensorboard

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Where TensorBoard may listen, so that probes, the Service and port-forwards, which come from within, reach it.
const (
	hostOption = "--host"
	anyIPv4    = "0.0.0.0"
	anyIPv6    = "::" // and IPv4 too, where the pod has it
)

// ListenFor has TensorBoard listen on the addresses that a Service, as it is stored, leads to: those of the cluster's first
// IP family, of which the pod's first address is, too. A cluster may be without IPv4.
func (b Board) ListenFor(service *corev1.Service) {
	if families := service.Spec.IPFamilies; len(families) > 0 && families[0] == corev1.IPv6Protocol {
		b.listenOnIPv6()
	}
}

// ListenAs has TensorBoard listen where it does in a Deployment: for want of a Service that would tell.
func (b Board) ListenAs(deployment *appsv1.Deployment) {
	for _, c := range deployment.Spec.Template.Spec.Containers {
		if i := slices.Index(c.Args, hostOption); c.Name == component && i >= 0 && slices.Contains(c.Args[i:], anyIPv6) {
			b.listenOnIPv6()
		}
	}
}

func (b Board) listenOnIPv6() {
	args := b.Deployment.Spec.Template.Spec.Containers[0].Args
	args[slices.Index(args, hostOption)+1] = anyIPv6
	b.sign()
}
