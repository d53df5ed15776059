package v1beta1

import corev1 "k8s.io/api/core/v1"

// SchedulePolicy has the pods of a job placed together, all of them or none, by one scheduler of those that know how to.
//
// A template's priorityClassName, nodeSelector, affinity and tolerations are left as they are. So is its schedulerName, with any
// scheduler but t9kScheduler.
//
// +kubebuilder:validation:XValidation:rule="[has(self.t9kScheduler), has(self.kubernetes), has(self.volcano), has(self.coscheduling), has(self.kai), has(self.kueue)].filter(named, named).size() == 1",message="name exactly one scheduler: t9kScheduler, kubernetes, volcano, coscheduling, kai or kueue"
// +kubebuilder:validation:XValidation:rule="!has(self.kueue) || !has(self.minMember)",message="minMember: Kueue admits all replicas or none; leave minMember out"
type SchedulePolicy struct {
	// t9kScheduler has the pods placed together by TensorStack's scheduler.
	// +optional
	T9kScheduler *T9kScheduler `json:"t9kScheduler,omitempty"`
	// minMember is the number of replicas that are placed together or not at all. Replicas that have finished do not count:
	// if fewer than this are left, it is these. Default: all replicas. In a PyTorchTrainingJob that is elastic the default is
	// minReplicas. Extension.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=160000
	// +optional
	MinMember *int32 `json:"minMember,omitempty"`
	// kubernetes has the pods placed together by Kubernetes' own scheduler, by a PodGroup of scheduling.k8s.io. The cluster must
	// have the feature gate GenericWorkload on; Kubernetes 1.36 also needs GangScheduling. Extension.
	// +optional
	Kubernetes *KubernetesScheduler `json:"kubernetes,omitempty"`
	// volcano has the pods placed together by Volcano. Extension.
	// +optional
	Volcano *VolcanoScheduler `json:"volcano,omitempty"`
	// coscheduling has the pods placed together by a scheduler with the plugin Coscheduling of kubernetes-sigs/scheduler-plugins.
	// Extension.
	// +optional
	Coscheduling *Coscheduling `json:"coscheduling,omitempty"`
	// kai has the pods placed together by the KAI Scheduler, from its version 0.15 on. Extension.
	// +optional
	KAI *KAIScheduler `json:"kai,omitempty"`
	// kueue has the job wait in a queue of Kueue's until all of its replicas are admitted. The label kueue.x-k8s.io/queue-name of
	// a job without scheduler means the same, with that queue. Kueue is not asked to admit a part of the job: minMember is refused
	// beside it. Extension.
	// +optional
	Kueue *KueueScheduler `json:"kueue,omitempty"`
}

// T9kScheduler configures TensorStack's scheduler for the job's PodGroup.
type T9kScheduler struct {
	// queue is the queue that the job is scheduled in. Default: the scheduler's own default queue.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Queue string `json:"queue,omitempty"`
	// priority is the PodGroup's priority, from 0 to 100. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Priority int32 `json:"priority,omitempty"`
}

// KubernetesScheduler configures Kubernetes' own scheduler for the job's PodGroups. There is nothing to configure.
type KubernetesScheduler struct{}

// VolcanoScheduler configures Volcano for the job's PodGroup.
type VolcanoScheduler struct {
	// queue is Volcano's queue that the job waits in. Default: Volcano's own default queue.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Queue string `json:"queue,omitempty"`
	// priorityClassName is the PriorityClass that the PodGroup is ranked by. Default: none; Volcano then ranks it by its pods.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
	// minResources is what must be free in the queue before the job is considered. Default: the requests of the first
	// minMember replicas that have not finished.
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
}

// Coscheduling configures the plugin Coscheduling for the job's PodGroup. All replicas of the job need the same priority.
type Coscheduling struct {
	// schedulerName is the name of the scheduler that has the plugin, for templates that name none. Default
	// scheduler-plugins-scheduler.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	SchedulerName string `json:"schedulerName,omitempty"`
	// scheduleTimeoutSeconds is the time in seconds that pods which have got a node wait for the others. Default: the plugin's
	// own.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
	// minResources is what must be free in the cluster before the job is considered. Default: the requests of the first
	// minMember replicas that have not finished.
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
}

// KAIScheduler configures the KAI Scheduler for the job's PodGroup.
type KAIScheduler struct {
	// queue is KAI's queue that the job waits in.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Queue string `json:"queue"`
	// priorityClassName is the PriorityClass that the PodGroup is ranked by. Default: that which KAI takes.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// GangStatus is the group in which pods that are still to be placed are placed together, of a scheduler whose groups cannot be
// changed.
type GangStatus struct {
	// group is the number of that group, from 1: its name is <job>-<group>.
	Group int32 `json:"group"`
	// minMember is how many of its pods are placed together or not at all; 0 if the next pod begins a new group.
	// +optional
	MinMember int32 `json:"minMember,omitempty"`
	// hadPods says that pods were given up with an earlier group, or had lost theirs: the cluster has taken pods of this job.
	// +optional
	HadPods bool `json:"hadPods,omitempty"`
}

// KueueScheduler is a place in a queue of Kueue's.
type KueueScheduler struct {
	// queueName is the name of a LocalQueue in the job's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	QueueName string `json:"queueName"`
	// priorityClass is the WorkloadPriorityClass that the job is ranked by in the queue; its pods' own priority stays as it is. Default:
	// none.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClass string `json:"priorityClass,omitempty"`
}
