package barrier

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Reachable returns the pods that the operator may ask for reports. Each is the pod of a replica, and has an address in the pod network. This is
// checked because anybody who may create pods can make one that names the job as its controller.
func Reachable(job *v1beta1.GenericJob, pods []*corev1.Pod) (list []*corev1.Pod) {
	names := spec.NamesOf(job)
	for _, pod := range pods {
		_, rank, ok := roster.ReplicaOf(names, pod)
		r := spec.OfType(job, pod.Labels[v1beta1.LabelReplicaType])
		if ok && r != nil && rank < spec.Kept(job, r) && metav1.IsControlledBy(pod, job) && podstate.Address(pod) != "" {
			list = append(list, pod)
		}
	}
	return list
}
