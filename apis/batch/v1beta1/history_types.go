package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// History is what came between the work of a job: its starts, failures, disruptions, pauses, queues and changes of size. It has 4,000 bytes at most.
// The sums of what is no longer listed stay, so that for each kind the seconds are those of status.time.
type History struct {
	// entries are what came last, in the order in which they began. One without an end goes on.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Entries []HistoryEntry `json:"entries,omitempty"`
	// earlier are sums of what came before these entries, by kind.
	// +kubebuilder:validation:MaxItems=8
	// +listType=map
	// +listMapKey=kind
	// +optional
	Earlier []HistorySum `json:"earlier,omitempty"`
}

// HistoryEntry is one thing that came between. Its times are those at which code ended or started, as in status.time.
type HistoryEntry struct {
	// kind is what it was.
	Kind HistoryKind `json:"kind"`
	// begin is when it began: a failure when the code ended, a hang with the last sign of life.
	Begin metav1.Time `json:"begin"`
	// end is when it was over: a failure when enough replicas ran again. It is empty while it goes on.
	// +optional
	End *metav1.Time `json:"end,omitempty"`
	// seconds is how many seconds of status.time it has taken, of those that are counted there. A pause in a loss counts as the pause alone.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// deviceSeconds counts each of them as often as the job asked for accelerators.
	// +optional
	DeviceSeconds int64 `json:"deviceSeconds,omitempty"`
	// restarts is how many restarts it came to, as backoffCount, disruptionCount and exceptedCount have them.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`
	// pod is the name of the pod of which it came: of the first failure, or of the first disruption.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Pod string `json:"pod,omitempty"`
	// probable says that it may have been another pod; see firstFailure.
	// +optional
	Probable bool `json:"probable,omitempty"`
	// node is the node that this pod was on.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Node string `json:"node,omitempty"`
	// exitCode is that of its container, if it failed.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// cause says what kind of failure it was.
	// +optional
	Cause CauseKind `json:"cause,omitempty"`
	// message says what the code, or the cluster, said of it.
	// +kubebuilder:validation:MaxLength=200
	// +optional
	Message string `json:"message,omitempty"`
	// from is how many replicas the job had before a change of its size, without auxiliary ones.
	// +optional
	From *int32 `json:"from,omitempty"`
	// to is how many it has had since.
	// +optional
	To *int32 `json:"to,omitempty"`
}

// HistorySum is the sum of entries of one kind that are no longer listed.
type HistorySum struct {
	// kind is what they were.
	Kind HistoryKind `json:"kind"`
	// count is how many there were. What an operator has seen that did not keep them is not in it, but in the seconds.
	Count int64 `json:"count"`
	// seconds is how many seconds of status.time they have taken.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// deviceSeconds counts each of them as often as the job asked for accelerators.
	// +optional
	DeviceSeconds int64 `json:"deviceSeconds,omitempty"`
	// restarts is how many restarts they came to.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`
}

// HistoryKind is a kind of what comes between the work of a job.
//
// +kubebuilder:validation:Enum=Start;Failure;Hang;Disruption;NodeLost;Pause;Queue;Scale
type HistoryKind string

// The kinds of what comes between.
const (
	// HistoryStart is until enough replicas ran: at the beginning, after a pause or a queue, and after a success with which all begin again.
	HistoryStart HistoryKind = "Start"
	// HistoryFailure is what a failure of code cost.
	HistoryFailure HistoryKind = "Failure"
	// HistoryHang is what a hang cost.
	HistoryHang HistoryKind = "Hang"
	// HistoryDisruption is what an eviction, drain, preemption or deletion of a pod cost.
	HistoryDisruption HistoryKind = "Disruption"
	// HistoryNodeLost is what a lost node cost.
	HistoryNodeLost HistoryKind = "NodeLost"
	// HistoryPause is a pause, or debug mode.
	HistoryPause HistoryKind = "Pause"
	// HistoryQueue is time without admission by the queue, or without the objects of the gang scheduler.
	HistoryQueue HistoryKind = "Queue"
	// HistoryScale is a change of the number of replicas. It has no length.
	HistoryScale HistoryKind = "Scale"
)

// HistoryKinds are all kinds.
var HistoryKinds = []HistoryKind{
	HistoryStart, HistoryFailure, HistoryHang, HistoryDisruption, HistoryNodeLost, HistoryPause, HistoryQueue, HistoryScale,
}

// TimeCause is the cause of time, in status.time, that is spent on this; "" for a change of size.
func (k HistoryKind) TimeCause() TimeCause {
	switch k {
	case HistoryStart:
		return TimeStarting
	case HistoryFailure:
		return TimeLostToRestart
	case HistoryHang:
		return TimeLostToHang
	case HistoryDisruption:
		return TimeLostToDisruption
	case HistoryNodeLost:
		return TimeLostToNode
	case HistoryPause:
		return TimePaused
	case HistoryQueue:
		return TimeQueued
	default:
		return ""
	}
}

// IsLoss reports whether time that this takes is lost.
func (k HistoryKind) IsLoss() bool {
	return k == HistoryFailure || k == HistoryHang || k == HistoryDisruption || k == HistoryNodeLost
}
