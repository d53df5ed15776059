package kernel

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// provide asks for what the pods need before they start: the job's Service and the gang scheduler's objects.
func (p *pass) provide() {
	if want := desiredService(p.Job); want != nil {
		p.provideService(want)
	}
	for _, object := range GangObjects(p.Job) {
		if !p.Gang.has(object) {
			p.actions = append(p.actions, Action{Verb: ApplyObject, Object: object, Reason: "the pods are scheduled by it"})
		}
	}
}

func (p *pass) provideService(want *corev1.Service) {
	for _, have := range p.Services {
		if have.Name != want.Name || !metav1.IsControlledBy(have, p.Job) {
			continue
		}
		if !equality.Semantic.DeepEqual(portsOf(have), portsOf(want)) {
			want.UID = have.UID
			p.actions = append(p.actions, Action{Verb: UpdateService, Service: want, Reason: "spec.service.ports has changed"})
		}
		return
	}
	p.actions = append(p.actions, Action{Verb: CreateService, Service: want, Reason: "the pods find each other by it"})
}

// desiredService is the job's Service: one headless Service for all replicas, however many. It publishes addresses of
// pods that are not ready, because replicas look for each other before they are. The selector has the job's UID in it,
// so that no other pod can join.
func desiredService(job *v1beta1.GenericJob) *corev1.Service {
	if job.Spec.Service == nil {
		return nil
	}
	labels := map[string]string{v1beta1.LabelJobUID: string(job.UID), v1beta1.LabelJobName: job.Name}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: job.Name, Namespace: job.Namespace, Labels: labels,
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
