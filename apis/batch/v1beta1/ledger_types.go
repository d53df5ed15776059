package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LedgerVersion is the ledgerVersion of statuses that this build writes and reads.
const LedgerVersion = 1

// TaskLedger is what the operator has recorded of the replicas of one type.
type TaskLedger struct {
	// type is the replica type.
	Type string `json:"type"`
	// succeeded are the ranks that succeeded, as intervals: "0-3,7".
	// +optional
	Succeeded string `json:"succeeded,omitempty"`
	// failed are the ranks that failed for good, as intervals.
	// +optional
	Failed string `json:"failed,omitempty"`
	// replicas are the ranks that were replaced at least once, in ascending order.
	// +listType=atomic
	// +optional
	Replicas []RankRecord `json:"replicas,omitempty"`
}

// RankRecord is what the operator has recorded of one replica that was replaced. In jobs with more than 1,000 such
// replicas it may be about several neighbours of which the same is to be said.
type RankRecord struct {
	// rank is the replica's rank in its type.
	Rank int32 `json:"rank"`
	// lastRank is the last rank that the record is about, if that is more than one.
	// +optional
	LastRank int32 `json:"lastRank,omitempty"`
	// attempt counts how often this replica was started over for itself, for whatever reason. A pod's label has the sum of it and of
	// jobAttempt. A pod with a lower sum is obsolete, unless it restarts in place.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// restarts counts the replacements that a limit counts.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// streak counts the restarts in a row after lives of less than ten minutes; the delay before the next grows with it. A life is the
	// replica's own. With restartScope Job it is that of all: from when enough replicas run until the first container ends.
	// +optional
	Streak int32 `json:"streak,omitempty"`
	// streakDisruptions counts those of streak that no failure ended, in jobs that restart in place: spec.inPlaceLimit is about the others.
	// +optional
	StreakDisruptions int32 `json:"streakDisruptions,omitempty"`
	// notBefore is the earliest time for the next pod.
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`
	// minPodAttempt is the lowest attempt for which its pod may have been made: an older pod is deleted. Only jobs that restart in place have
	// it. In other jobs that is attempt itself.
	// +optional
	MinPodAttempt int32 `json:"minPodAttempt,omitempty"`
	// exits is how many ends of the container that restarts in place have been counted, in each pod of exitsOfPod.
	// +optional
	Exits int32 `json:"exits,omitempty"`
	// exitsOfPod is the pod that exits is about: six characters, a hash of its UID. A record of several ranks has six for each, in their
	// order.
	// +optional
	ExitsOfPod string `json:"exitsOfPod,omitempty"`
}

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
