package tensorboard

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// The addresses on which TensorBoard may listen. It must answer probes, the Service and port-forwards, which come from within the pod.
const (
	hostOption = "--host"
	anyIPv4    = "0.0.0.0"
	anyIPv6    = "::" // with IPv4, if the pod has it
)

// ListenFor makes TensorBoard listen on addresses of the first IP family of the stored Service. The pod's first address is of that family, too. A
// cluster may have no IPv4.
func (b Board) ListenFor(service *corev1.Service) {
	if families := service.Spec.IPFamilies; len(families) > 0 && families[0] == corev1.IPv6Protocol {
		b.listenOnIPv6()
	}
}

// ListenAs makes TensorBoard listen on the addresses of the stored Deployment. It is for a TensorBoard without a Service.
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
