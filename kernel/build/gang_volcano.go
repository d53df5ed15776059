package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// volcanoGang is Volcano: an annotation on the pods names the PodGroup, another the replica type, which Volcano calls a task.
type volcanoGang struct{}

// Names of Volcano, from its API package.
const (
	volcanoSchedulerName = "volcano"
	volcanoAPIVersion    = "scheduling.volcano.sh/v1beta1"
	volcanoGroup         = "scheduling.k8s.io/group-name"
	volcanoTask          = "volcano.sh/task-spec"
)

func (volcanoGang) versions() []string { return []string{volcanoAPIVersion} }

func (volcanoGang) spec(job *v1beta1.GenericJob, g Group) map[string]any {
	v := job.Spec.Scheduler.Volcano
	spec := map[string]any{"minMember": int64(g.MinMember)}
	if v.Queue != "" {
		spec["queue"] = v.Queue
	}
	if v.PriorityClassName != "" {
		spec["priorityClassName"] = v.PriorityClassName
	}
	if least := leastResources(job, g, v.MinResources); len(least) > 0 {
		spec["minResources"] = least
	}
	return spec
}

func (volcanoGang) addToGroup(_ *v1beta1.SchedulePolicy, group, replicaType string, pod *corev1.Pod) {
	scheduledBy(pod, volcanoSchedulerName)
	set(&pod.Annotations, volcanoGroup, group)
	set(&pod.Annotations, volcanoTask, replicaType)
	set(&pod.Labels, volcanoTask, replicaType)
}
