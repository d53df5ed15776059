package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JobStatus is the observed state of a job.
type JobStatus struct {
	// conditions are the latest observations of the job. The last one is what the job is now.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []JobCondition `json:"conditions,omitempty"`
	// replicaStatuses count the replicas by type.
	// +optional
	ReplicaStatuses map[string]*ReplicaStatus `json:"replicaStatuses,omitempty"`
	// startTime is when the job began, or when it was last resumed.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job was seen to have succeeded or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// lastReconcileTime is not set by this operator.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
	// observedGeneration is the metadata.generation that this status answers to. Extension.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// unstartedSpec is there as long as no container of the job has started: a template may be edited without suspending the job. Extension.
	// +optional
	UnstartedSpec string `json:"unstartedSpec,omitempty"`
}

// JobCondition is one observation of a job.
type JobCondition struct {
	// type is the type of the condition.
	Type JobConditionType `json:"type"`
	// status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// reason says in one word why the condition is as it is.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message explains it to people: which pod, which exit code, what to do next.
	// +optional
	Message string `json:"message,omitempty"`
	// lastUpdateTime is when the condition last changed in any way.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobConditionType names a condition of a job.
type JobConditionType string

// The conditions of a job. Their reasons begin with the kind, as in TFJobRunning.
const (
	// JobCreated: the operator has seen the job.
	JobCreated JobConditionType = "Created"
	// JobRunning: the chief or master runs, or, without one, some worker does.
	JobRunning JobConditionType = "Running"
	// JobRestarting: replicas are started again, and JobRunning does not hold yet.
	JobRestarting JobConditionType = "Restarting"
	// JobSucceeded: the job has succeeded. Final.
	JobSucceeded JobConditionType = "Succeeded"
	// JobFailed: the job has failed. Final.
	JobFailed JobConditionType = "Failed"
	// JobSuspended: the job is suspended; its pods are deleted or being deleted.
	JobSuspended JobConditionType = "Suspended"
	// JobReplicaFailure: a pod failed, or cannot start; the message says which and why. Extension.
	JobReplicaFailure JobConditionType = "ReplicaFailure"
	// JobBlocked: the cluster refuses something that the job needs; the message says what and what to do. It goes away
	// by itself. Extension.
	JobBlocked JobConditionType = "Blocked"
)

// The ends of reasons; their beginning is the kind.
const (
	ReasonCreated    = "Created"
	ReasonRunning    = "Running"
	ReasonRestarting = "Restarting"
	ReasonSucceeded  = "Succeeded"
	ReasonFailed     = "Failed"
	ReasonSuspended  = "Suspended"
	ReasonResumed    = "Resumed"
)

// ReplicaStatus counts the replicas of one type.
type ReplicaStatus struct {
	// active is the number of replicas that run.
	// +optional
	Active int32 `json:"active,omitempty"`
	// succeeded is the number of replicas that have succeeded.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// failed is the number of replicas that have failed.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// labelSelector is not set by this operator; it was deprecated in favour of selector.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// selector finds the pods of this type, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
}
