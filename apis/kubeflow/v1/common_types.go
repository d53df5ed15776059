package v1

import corev1 "k8s.io/api/core/v1"

// What the kinds have in common.

// RunPolicy says how a job runs.
type RunPolicy struct {
	InlineRunPolicy `json:",inline"`

	// suspend stops the job: its pods are deleted and none is created while it is true. It may change at any time.
	// Default false.
	// +optional
	Suspend *bool `json:"suspend,omitempty"`
	// managedBy names the controller that runs the job. Default kubeflow.org/training-operator, which this operator answers to. A job of
	// kueue.x-k8s.io/multikueue is left alone. Immutable.
	// +optional
	ManagedBy *ManagedBy `json:"managedBy,omitempty"`
	// schedulingPolicy is for gang schedulers and for Kueue.
	// +optional
	SchedulingPolicy *SchedulingPolicy `json:"schedulingPolicy,omitempty"`
}

// InlineRunPolicy is the part of RunPolicy that older manifests write into the spec itself.
type InlineRunPolicy struct {
	// cleanPodPolicy says which pods are deleted once the job has finished. None (default): no pod; Running: those that
	// have not finished; All: every pod.
	// +optional
	CleanPodPolicy CleanPodPolicy `json:"cleanPodPolicy,omitempty"`
	// ttlSecondsAfterFinished is the time in seconds after which a finished job is deleted, with its pods. Default:
	// the job is kept.
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// activeDeadlineSeconds is the time in seconds that the job may be active; the clock stops while it is suspended.
	// When it is over the job fails. With 0 that is at once, which means after a second. Default: no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// backoffLimit is the number of restarts that all replicas share: exactly so many are made. Default: no limit.
	// +kubebuilder:validation:Minimum=0
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
}

// CleanPodPolicy says which pods are deleted once a job has finished.
//
// +kubebuilder:validation:Enum="";None;Running;All
type CleanPodPolicy string

// The values of CleanPodPolicy.
const (
	CleanPodsNone    CleanPodPolicy = "None"
	CleanPodsRunning CleanPodPolicy = "Running"
	CleanPodsAll     CleanPodPolicy = "All"
)

// ManagedBy names a controller.
//
// +kubebuilder:validation:Enum=kubeflow.org/training-operator;kueue.x-k8s.io/multikueue
type ManagedBy string

// The values of ManagedBy.
const (
	ManagedByTrainingOperator ManagedBy = "kubeflow.org/training-operator"
	ManagedByMultiKueue       ManagedBy = "kueue.x-k8s.io/multikueue"
)

// IsForeign reports whether another controller runs the job.
func (m *ManagedBy) IsForeign() bool { return m != nil && *m != ManagedByTrainingOperator }

// SchedulingPolicy is for gang schedulers and for Kueue, which reads priorityClass. All else has an effect if the operator has a
// gang scheduler (its flag --gang-scheduler-name); else a Warning event says that it has none.
type SchedulingPolicy struct {
	// minAvailable is the number of replicas that are placed together or not at all. Default: all; in an elastic PyTorchJob
	// minReplicas, and the master if it has one.
	// +optional
	MinAvailable *int32 `json:"minAvailable,omitempty"`
	// queue is the queue that the job waits in, with Volcano. Default: Volcano's own. Immutable.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="queue is immutable: create the job again to change it"
	// +optional
	Queue string `json:"queue,omitempty"`
	// minResources is what must be free before the job is considered. Default: the requests of the first minAvailable replicas
	// that have not finished.
	// +optional
	MinResources corev1.ResourceList `json:"minResources,omitempty"`
	// priorityClass is the class that Kueue, or Volcano, ranks the job by.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	PriorityClass string `json:"priorityClass,omitempty"`
	// scheduleTimeoutSeconds is the time in seconds that pods which have got a node wait for the others, with the plugin
	// Coscheduling. Default: the plugin's own.
	// +optional
	ScheduleTimeoutSeconds *int32 `json:"scheduleTimeoutSeconds,omitempty"`
}

// ReplicaSpec describes the replicas of one type.
type ReplicaSpec struct {
	// replicas is the number of replicas of this type. Default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// template describes the pods. Its restartPolicy has no effect.
	// +required
	Template corev1.PodTemplateSpec `json:"template"`
	// restartPolicy says when a replica that ended is started again: Always (after success too), OnFailure, Never, or
	// ExitCode (only after exit codes from 128 on). Default OnFailure in a PyTorchJob, in a PaddleJob and for an MPIJob's launcher, else
	// Never.
	// +optional
	RestartPolicy RestartPolicy `json:"restartPolicy,omitempty"`
}

// RestartPolicy names when a replica is started again.
//
// +kubebuilder:validation:Enum="";Always;OnFailure;Never;ExitCode
type RestartPolicy string

// The values of RestartPolicy.
const (
	RestartAlways    RestartPolicy = "Always"
	RestartOnFailure RestartPolicy = "OnFailure"
	RestartNever     RestartPolicy = "Never"
	RestartExitCode  RestartPolicy = "ExitCode"
)
