package build

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// t9kGang is TensorStack's scheduler: a PodGroup with the job's name, and labels on the pods that point to it.
type t9kGang struct{}

// Names of TensorStack's scheduler, from its user manual ("use PodGroup").
const (
	t9kSchedulerName = "t9k-scheduler"
	t9kAPIVersion    = "scheduler.tensorstack.dev/v1beta1"
	t9kLabelGroup    = "scheduler.tensorstack.dev/group-name"
	t9kLabelQueue    = "scheduler.tensorstack.dev/queue"
	t9kLabelRole     = "scheduler.tensorstack.dev/role"
)

func (t9kGang) objects(job *v1beta1.GenericJob) []*unstructured.Unstructured {
	t9k := job.Spec.Scheduler.T9kScheduler
	spec := map[string]any{"minMember": gangSize(job), "priority": int64(t9k.Priority)}
	if t9k.Queue != "" {
		spec["queue"] = t9k.Queue
	}
	group := &unstructured.Unstructured{Object: map[string]any{"apiVersion": t9kAPIVersion, "kind": "PodGroup", "spec": spec}}
	group.SetName(job.Name)
	group.SetNamespace(job.Namespace)
	group.SetOwnerReferences([]metav1.OwnerReference{*controllerRef(job)})
	return []*unstructured.Unstructured{group}
}

func (t9kGang) bind(job *v1beta1.GenericJob, replicaType string, pod *corev1.Pod) {
	pod.Spec.SchedulerName = t9kSchedulerName
	pod.Labels[t9kLabelGroup] = job.Name
	pod.Labels[t9kLabelRole] = replicaType
	if q := job.Spec.Scheduler.T9kScheduler.Queue; q != "" {
		pod.Labels[t9kLabelQueue] = q
	}
}
