package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InPlaceStatus is what the operator has recorded of restarts in place of all replicas together.
type InPlaceStatus struct {
	// startedJobAttempt is the last job attempt that all replicas were told to start. Below status.jobAttempt they wait at the barrier: none
	// runs code of an earlier attempt beside one that runs code of a later.
	// +optional
	StartedJobAttempt int32 `json:"startedJobAttempt,omitempty"`
	// minPodJobAttempt is the job attempt in which all pods were last replaced. Pods that were made in an earlier one are deleted.
	// +optional
	MinPodJobAttempt int32 `json:"minPodJobAttempt,omitempty"`
	// barrierTime is when the replicas were last told to stop.
	// +optional
	BarrierTime *metav1.MicroTime `json:"barrierTime,omitempty"`
	// restartTime is when they were last told to go on, all having stopped.
	// +optional
	RestartTime *metav1.MicroTime `json:"restartTime,omitempty"`
}
