package build

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// domainOf returns the DNS domain of the names of the job's pods, if it has a Service.
func domainOf(job *v1beta1.GenericJob, clusterDomain string) string {
	return spec.ServiceName(job) + "." + job.Namespace + ".svc." + clusterDomain
}

// network gives the pod its host name and, if the job has a Service, makes the names of all replicas resolve, the short ones too.
func (b *Builder) network(pod *corev1.Pod, a spec.Replica) {
	pod.Spec.Hostname = v1beta1.HostName(b.job.Name, a.Type, a.Rank)
	if b.job.Spec.Service == nil {
		return
	}
	pod.Spec.Subdomain = spec.ServiceName(b.job)
	if pod.Spec.HostNetwork && pod.Spec.DNSPolicy == "" { // by default such a pod asks the node's name servers, which know no pods
		pod.Spec.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	if pod.Spec.DNSConfig == nil {
		pod.Spec.DNSConfig = &corev1.PodDNSConfig{}
	}
	pod.Spec.DNSConfig.Searches = append(pod.Spec.DNSConfig.Searches, b.domain)
	b.askFirst(&pod.Spec)
}

// ndots is the default for pods that use the cluster's name servers. A name with fewer dots is first tried with each domain of the search list, and
// only then as it is.
const ndots = 5

// askFirst lowers ndots, so that one query finds a replica's full name. In a cluster domain of two labels, like cluster.local, it need not.
func (b *Builder) askFirst(pod *corev1.PodSpec) {
	dots := strings.Count("<host>."+b.domain, ".")
	uses := slices.Contains([]corev1.DNSPolicy{"", corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet}, pod.DNSPolicy)
	own := slices.ContainsFunc(pod.DNSConfig.Options, func(o corev1.PodDNSConfigOption) bool { return o.Name == "ndots" })
	if uses && !own && dots < ndots {
		pod.DNSConfig.Options = append(pod.DNSConfig.Options, corev1.PodDNSConfigOption{Name: "ndots", Value: ptr.To(strconv.Itoa(dots))})
	}
}

// Service returns the job's Service, nil if it wants none: one headless Service for all replicas. It publishes addresses of pods that are not Ready,
// because replicas look for each other before they are. It selects by the job's UID, so that no other pod can join.
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

// portsOf returns the ports of a Service with the apiserver's defaults filled in, so that they can be compared.
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
