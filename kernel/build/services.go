package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Service is the job's Service, nil if it wants none: one headless Service for all replicas, however many. It publishes addresses of
// pods that are not ready, because replicas look for each other before they are. The selector has the job's UID in it,
// so that no other pod can join.
func Service(job *v1beta1.GenericJob) *corev1.Service {
	if job.Spec.Service == nil {
		return nil
	}
	labels := map[string]string{v1beta1.LabelJobUID: string(job.UID), v1beta1.LabelJobName: job.Name}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.ServiceName(job), Namespace: job.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*controllerRef(job)},
		},
		Spec: corev1.ServiceSpec{
			ClusterIP:                corev1.ClusterIPNone,
			PublishNotReadyAddresses: true,
			Selector:                 map[string]string{v1beta1.LabelJobUID: string(job.UID)},
			Ports:                    job.Spec.Service.DeepCopy().Ports,
		},
	}
}

// SamePorts reports whether two Services have the same ports.
func SamePorts(a, b *corev1.Service) bool {
	return equality.Semantic.DeepEqual(portsOf(a), portsOf(b))
}

// portsOf are the ports of a Service with the apiserver's defaults filled in, so that they can be compared.
func portsOf(s *corev1.Service) []corev1.ServicePort {
	ports := make([]corev1.ServicePort, 0, len(s.Spec.Ports))
	for _, port := range s.Spec.Ports {
		if port.Protocol == "" {
			port.Protocol = corev1.ProtocolTCP
		}
		if port.TargetPort == (intstr.IntOrString{}) || port.TargetPort == intstr.FromString("") {
			port.TargetPort = intstr.FromInt32(port.Port)
		}
		ports = append(ports, port)
	}
	return ports
}
