package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// kaiGang is the KAI Scheduler: an annotation on the pods names the PodGroup. KAI would make one itself, of one pod each. After a minute it
// would evict a job that runs with fewer pods than its minimum; a restart may wait for longer. Both are switched off.
type kaiGang struct{}

// Names of KAI, from its API package and its podgrouper.
const (
	kaiSchedulerName  = "kai-scheduler"
	kaiAPIVersion     = "scheduling.run.ai/v2alpha2"
	kaiGroup          = "pod-group-name"
	kaiSkipPodGrouper = "kai.scheduler/skip-podgrouper"
)

func (kaiGang) versions() []string { return []string{kaiAPIVersion} }

func (kaiGang) spec(job *v1beta1.GenericJob, g Group) map[string]any {
	k := job.Spec.Scheduler.KAI
	spec := map[string]any{"minMember": int64(g.MinMember), "queue": k.Queue, "stalenessGracePeriod": "-1s"}
	if k.PriorityClassName != "" {
		spec["priorityClassName"] = k.PriorityClassName
	}
	return spec
}

func (kaiGang) addToGroup(_ *v1beta1.SchedulePolicy, group, _ string, pod *corev1.Pod) {
	scheduledBy(pod, kaiSchedulerName)
	set(&pod.Annotations, kaiGroup, group)
	set(&pod.Annotations, kaiSkipPodGrouper, "true")
}
