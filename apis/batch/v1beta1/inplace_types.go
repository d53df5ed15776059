package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// InPlaceStatus is what the operator has recorded of restarts in place of all replicas together.
type InPlaceStatus struct {
	// reached is the attempt at which all replicas have arrived. Below status.attempt they wait at the barrier: none runs code of an
	// earlier attempt beside one that runs code of a later.
	// +optional
	Reached int32 `json:"reached,omitempty"`
	// replaced is the attempt in which all pods were last replaced: older ones are obsolete, and deleted.
	// +optional
	Replaced int32 `json:"replaced,omitempty"`
	// barrierTime is when the replicas were last told to stop.
	// +optional
	BarrierTime *metav1.MicroTime `json:"barrierTime,omitempty"`
	// restartTime is when they were last told to go on, all having stopped.
	// +optional
	RestartTime *metav1.MicroTime `json:"restartTime,omitempty"`
}
