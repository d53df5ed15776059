package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// t9kGang is TensorStack's scheduler: labels on the pods point to the PodGroup.
type t9kGang struct{}

// Names of TensorStack's scheduler, from its user manual ("use PodGroup").
const (
	t9kSchedulerName = "t9k-scheduler"
	t9kAPIVersion    = "scheduler.tensorstack.dev/v1beta1"
	t9kLabelGroup    = "scheduler.tensorstack.dev/group-name"
	t9kLabelQueue    = "scheduler.tensorstack.dev/queue"
	t9kLabelRole     = "scheduler.tensorstack.dev/role"
)

func (t9kGang) versions() []string { return []string{t9kAPIVersion} }

func (t9kGang) spec(job *v1beta1.GenericJob, g Group) map[string]any {
	t9k := job.Spec.Scheduler.T9kScheduler
	spec := map[string]any{"minMember": int64(g.MinMember), "priority": int64(t9k.Priority)}
	if t9k.Queue != "" {
		spec["queue"] = t9k.Queue
	}
	return spec
}

func (t9kGang) addToGroup(s *v1beta1.SchedulePolicy, group, replicaType string, pod *corev1.Pod) {
	pod.Spec.SchedulerName = t9kSchedulerName
	set(&pod.Labels, t9kLabelGroup, group)
	set(&pod.Labels, t9kLabelRole, replicaType)
	if q := s.T9kScheduler.Queue; q != "" {
		set(&pod.Labels, t9kLabelQueue, q)
	}
}
