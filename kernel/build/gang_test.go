package build

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func scheduledBySpec(s v1beta1.SchedulePolicy) func(*v1beta1.GenericJobSpec) {
	return func(spec *v1beta1.GenericJobSpec) { spec.Scheduler = &s }
}

// What each scheduler finds on the PodGroup and on a pod: nothing else tells it that they belong together.
func TestEachGangSchedulerFindsItsPods(t *testing.T) {
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("16")}
	tests := map[string]struct {
		policy           v1beta1.SchedulePolicy
		version, group   string
		spec             map[string]any
		scheduler        string
		labels           map[string]string
		annotations      map[string]string
		hasSchedulingKey bool
	}{
		"kubernetes": {
			policy: v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}}, version: "scheduling.k8s.io/v1beta1", group: "job-4",
			spec:             map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(3)}}},
			hasSchedulingKey: true,
		},
		"volcano": {
			policy:  v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{Queue: "q", PriorityClassName: "high", MinResources: gpus}},
			version: "scheduling.volcano.sh/v1beta1", group: "job",
			spec:      map[string]any{"minMember": int64(3), "queue": "q", "priorityClassName": "high", "minResources": map[string]any{"nvidia.com/gpu": "16"}},
			scheduler: "volcano", labels: map[string]string{"volcano.sh/task-spec": "worker"},
			annotations: map[string]string{"scheduling.k8s.io/group-name": "job", "volcano.sh/task-spec": "worker"},
		},
		"coscheduling": {
			policy:  v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{ScheduleTimeoutSeconds: ptr.To[int32](9)}},
			version: "scheduling.x-k8s.io/v1alpha1", group: "job",
			spec:      map[string]any{"minMember": int64(3), "scheduleTimeoutSeconds": int64(9)},
			scheduler: "scheduler-plugins-scheduler", labels: map[string]string{"scheduling.x-k8s.io/pod-group": "job"},
		},
		"coscheduling under another name": {
			policy: v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{SchedulerName: "mine"}}, version: "scheduling.x-k8s.io/v1alpha1", group: "job",
			spec: map[string]any{"minMember": int64(3)}, scheduler: "mine", labels: map[string]string{"scheduling.x-k8s.io/pod-group": "job"},
		},
		"kai": {
			policy: v1beta1.SchedulePolicy{KAI: &v1beta1.KAIScheduler{Queue: "q", PriorityClassName: "train"}}, version: "scheduling.run.ai/v2alpha2", group: "job",
			spec:      map[string]any{"minMember": int64(3), "queue": "q", "priorityClassName": "train", "stalenessGracePeriod": "-1s"},
			scheduler: "kai-scheduler", annotations: map[string]string{"pod-group-name": "job", "kai.scheduler/skip-podgrouper": "true"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(scheduledBySpec(tc.policy))
			require.Contains(t, GangVersions(job), tc.version)
			number := int32(0)
			if GroupsAreImmutable(job) {
				number = 4
			}
			o := GangObject(job, Group{Number: number, MinMember: 3}, tc.version)
			require.Equal(t, tc.group, o.GetName())
			require.Equal(t, tc.version, o.GetAPIVersion())
			require.Equal(t, tc.spec, o.Object["spec"])
			require.True(t, metav1.IsControlledBy(o, job))

			pod := podOf(t, job, Run{Gang: number}, 0)
			require.Equal(t, tc.scheduler, pod.Spec.SchedulerName)
			for key, value := range tc.labels {
				require.Equal(t, value, pod.Labels[key], key)
			}
			for key, value := range tc.annotations {
				require.Equal(t, value, pod.Annotations[key], key)
			}
			if tc.hasSchedulingKey {
				require.Equal(t, tc.group, *pod.Spec.SchedulingGroup.PodGroupName)
				require.Equal(t, "4", pod.Labels[v1beta1.LabelGang])
			} else {
				require.Nil(t, pod.Spec.SchedulingGroup)
			}
		})
	}
}

func TestATemplatesOwnSchedulerStays(t *testing.T) {
	job := jobOf(scheduledBySpec(v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}}), worker(func(p *corev1.PodTemplateSpec) {
		p.Spec.SchedulerName, p.Spec.PriorityClassName = "my-volcano", "high"
		p.Spec.NodeSelector = map[string]string{"pool": "a"}
	}))
	pod := podOf(t, job, Run{}, 0)
	require.Equal(t, "my-volcano", pod.Spec.SchedulerName)
	require.Equal(t, "high", pod.Spec.PriorityClassName)
	require.Equal(t, map[string]string{"pool": "a"}, pod.Spec.NodeSelector)
}

// The first replicas of the spec that are left are those that have to be placed at least.
func TestLeastResourcesAreThoseOfTheFewestReplicas(t *testing.T) {
	job := jobOf(func(s *v1beta1.GenericJobSpec) {
		s.ReplicaSpecs = nil
		for _, cpu := range []string{"1", "10"} {
			r := v1beta1.ReplicaSpec{Type: "t" + cpu}
			r.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}}
			s.ReplicaSpecs = append(s.ReplicaSpecs, r)
		}
	})
	require.Equal(t, map[string]any{"cpu": "12"}, leastResources(job, Group{MinMember: 3, Left: []int{2, 4}}, nil))
	require.Equal(t, map[string]any{"cpu": "31"}, leastResources(job, Group{MinMember: 4, Left: []int{1, 4}}, nil))
	require.Equal(t, map[string]any{"cpu": "7"}, leastResources(job, Group{MinMember: 4, Left: []int{1, 4}}, corev1.ResourceList{"cpu": resource.MustParse("7")}))
}

func TestLeastResourcesCountWhatThePodAsksForAsAWhole(t *testing.T) {
	for name, r := range map[string]corev1.ResourceRequirements{
		"requests":           {Requests: corev1.ResourceList{"cpu": resource.MustParse("8")}},
		"a limit":            {Limits: corev1.ResourceList{"cpu": resource.MustParse("8")}},
		"requests of two":    {Requests: corev1.ResourceList{"cpu": resource.MustParse("8")}, Limits: corev1.ResourceList{"cpu": resource.MustParse("16")}},
		"what no pod shares": {Requests: corev1.ResourceList{"cpu": resource.MustParse("8"), "nvidia.com/gpu": resource.MustParse("1")}},
	} {
		job := jobOf(worker(func(p *corev1.PodTemplateSpec) { p.Spec.Resources = &r }),
			scheduledBySpec(v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}}))
		group := GangObject(job, Group{MinMember: 3, Left: []int{0, 3}}, GangVersions(job)[0])
		require.Equal(t, map[string]any{"cpu": "24"}, group.Object["spec"].(map[string]any)["minResources"], name)
	}
}
