package build

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// coschedulingGang is the plugin Coscheduling of kubernetes-sigs/scheduler-plugins: a label of the pods names the PodGroup.
type coschedulingGang struct{}

// Names of the scheduler plugins, from their API package and their manifests.
const (
	coschedulingName       = "scheduler-plugins-scheduler"
	coschedulingAPIVersion = "scheduling.x-k8s.io/v1alpha1"
	coschedulingGroup      = "scheduling.x-k8s.io/pod-group"
)

func (coschedulingGang) versions() []string { return []string{coschedulingAPIVersion} }

func (coschedulingGang) spec(job *v1beta1.GenericJob, g Group) map[string]any {
	c := job.Spec.Scheduler.Coscheduling
	spec := map[string]any{"minMember": int64(g.MinMember)}
	if c.ScheduleTimeoutSeconds != nil {
		spec["scheduleTimeoutSeconds"] = int64(*c.ScheduleTimeoutSeconds)
	}
	if least := leastResources(job, g, c.MinResources); len(least) > 0 {
		spec["minResources"] = least
	}
	return spec
}

func (coschedulingGang) addToGroup(s *v1beta1.SchedulePolicy, group, _ string, pod *corev1.Pod) {
	scheduledBy(pod, cmp.Or(s.Coscheduling.SchedulerName, coschedulingName))
	set(&pod.Labels, coschedulingGroup, group)
}
