package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// kubernetesGang is Kubernetes' own scheduler with the gate GenericWorkload (KEP-4671; Kubernetes 1.36 needs GangScheduling, too). A field of the pod
// names the PodGroup. Nobody can change that one's policy in 1.36. In 1.37 one could; a new PodGroup does in both.
type kubernetesGang struct{}

func (kubernetesGang) versions() []string {
	return []string{"scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha2"}
}

func (kubernetesGang) spec(_ *v1beta1.GenericJob, g Group) map[string]any {
	return map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(g.MinMember)}}}
}

func (kubernetesGang) addToGroup(_ *v1beta1.SchedulePolicy, group, _ string, pod *corev1.Pod) {
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
}

// LacksGroup reports whether a pod lacks the field by which the job's scheduler knows its PodGroup. An apiserver with the feature gate off drops it
// silently.
func LacksGroup(job *v1beta1.GenericJob, pod *corev1.Pod) bool {
	_, isByField := gangSchedulerOf(job).(kubernetesGang)
	return isByField && pod.Spec.SchedulingGroup == nil
}
