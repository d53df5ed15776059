package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// JobTime says what the time of a job was spent on. Each second has one cause. The shares only grow, and with the open interval their sum is the
// time since since. Shares are in whole seconds.
type JobTime struct {
	TimeShares `json:",inline"`
	// open is the interval that goes on; its time is in no share yet. It is empty when the job is over.
	// +optional
	Open *OpenTime `json:"open,omitempty"`
	// since is when this begins: when the job was created, or when an operator first saw it that keeps this.
	Since metav1.Time `json:"since"`
	// basis says what shows that replicas which run also train: the steps that they tell, their heartbeat, or no more than that they run.
	// +optional
	Basis TimeBasis `json:"basis,omitempty"`
	// goodput is the share of the time that was productive, less what was recomputed, as "0.912". It is as of lastUpdateTime.
	// +kubebuilder:validation:MaxLength=8
	// +optional
	Goodput string `json:"goodput,omitempty"`
	// recomputed is how much of the productive time went into steps that had been done before.
	// +optional
	Recomputed int64 `json:"recomputed,omitempty"`
	// recomputedAtLeast says that recomputed is a lower bound: of some restart it is not known which step was the last before, or the first after.
	// +optional
	RecomputedAtLeast bool `json:"recomputedAtLeast,omitempty"`
	// stepBefore is the last step that was told before the job ceased to train. It is there until it is known with which step it went on.
	// +optional
	StepBefore *int64 `json:"stepBefore,omitempty"`
	// replicaSeconds are the shares, each second as often as the job had replicas. Auxiliary ones are not counted.
	// +optional
	ReplicaSeconds *TimeShares `json:"replicaSeconds,omitempty"`
	// deviceSeconds are the shares, each second as often as the job asked for accelerators; see kernel/time.md. It is empty for a job without any.
	// +optional
	DeviceSeconds *TimeShares `json:"deviceSeconds,omitempty"`
}

// TimeShares are times by their cause, each the sum of the intervals that are over.
type TimeShares struct {
	// total is the sum of the others.
	Total int64 `json:"total"`
	// queued is the time without admission by the job's queue, or without the objects of its gang scheduler.
	// +optional
	Queued int64 `json:"queued,omitempty"`
	// starting is the time until enough replicas ran, at the beginning and after a pause or a queue. So it is after a success with which all begin
	// again.
	// +optional
	Starting int64 `json:"starting,omitempty"`
	// productive is the time in which the job trained: enough replicas ran, all that had not finished, or minMember.
	// +optional
	Productive int64 `json:"productive,omitempty"`
	// paused is the time in which the job was to pause, or was in debug mode.
	// +optional
	Paused int64 `json:"paused,omitempty"`
	// lost is the time from something that ended code until enough replicas ran again.
	// +optional
	Lost LostTime `json:"lost,omitempty"`
}

// LostTime is lost time by what began each loss.
type LostTime struct {
	// restart is what failures of code cost.
	// +optional
	Restart int64 `json:"restart,omitempty"`
	// hang is what hangs cost: from the last sign of life.
	// +optional
	Hang int64 `json:"hang,omitempty"`
	// disruption is what evictions, drains, preemptions and deletions of pods cost.
	// +optional
	Disruption int64 `json:"disruption,omitempty"`
	// node is what nodes cost that were lost: from when they were not Ready.
	// +optional
	Node int64 `json:"node,omitempty"`
}

// OpenTime is an interval that goes on.
type OpenTime struct {
	// cause is what the time is spent on.
	Cause TimeCause `json:"cause"`
	// since is when the interval began.
	Since metav1.Time `json:"since"`
	// lostBy is what began a loss that goes on, even where a pause or a queue comes between. It is one of the causes in lost.
	// +optional
	LostBy TimeCause `json:"lostBy,omitempty"`
	// replicas is how many replicas the job has, without auxiliary ones.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// devices is how many accelerators it asks for.
	// +optional
	Devices int64 `json:"devices,omitempty"`
}

// TimeCause is what a second of a job's life was spent on.
//
// +kubebuilder:validation:Enum=paused;queued;restart;hang;disruption;node;starting;productive
type TimeCause string

// The values of TimeCause, those of losses in between.
const (
	TimePaused           TimeCause = "paused"
	TimeQueued           TimeCause = "queued"
	TimeLostToRestart    TimeCause = "restart"
	TimeLostToHang       TimeCause = "hang"
	TimeLostToDisruption TimeCause = "disruption"
	TimeLostToNode       TimeCause = "node"
	TimeStarting         TimeCause = "starting"
	TimeProductive       TimeCause = "productive"
)

// TimeBasis says what shows that replicas train.
//
// +kubebuilder:validation:Enum=steps;heartbeat;running
type TimeBasis string

// The values of TimeBasis.
const (
	TimeBasisSteps     TimeBasis = "steps"
	TimeBasisHeartbeat TimeBasis = "heartbeat"
	TimeBasisRunning   TimeBasis = "running"
)

// Of is the share of a cause, to be read or added to; nil if there is no such cause.
func (s *TimeShares) Of(cause TimeCause) *int64 {
	switch cause {
	case TimePaused:
		return &s.Paused
	case TimeQueued:
		return &s.Queued
	case TimeLostToRestart:
		return &s.Lost.Restart
	case TimeLostToHang:
		return &s.Lost.Hang
	case TimeLostToDisruption:
		return &s.Lost.Disruption
	case TimeLostToNode:
		return &s.Lost.Node
	case TimeStarting:
		return &s.Starting
	case TimeProductive:
		return &s.Productive
	default:
		return nil
	}
}

// TimeCauses are all causes, in the order in which the first that is true is the one of a second.
var TimeCauses = []TimeCause{
	TimePaused, TimeQueued, TimeLostToRestart, TimeLostToHang, TimeLostToDisruption, TimeLostToNode, TimeStarting, TimeProductive,
}
