package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// GenericJobStatus is the observed state of a GenericJob, and the operator's memory: what a restart of the operator
// must not forget stands here.
type GenericJobStatus struct {
	// phase is where the job is in its life, in one word. Empty until the operator has seen the job, which may take two
	// seconds.
	// +optional
	Phase JobPhase `json:"phase,omitempty"`
	// tasks are the replicas by type.
	// +listType=map
	// +listMapKey=type
	// +optional
	Tasks []TaskStatus `json:"tasks,omitempty"`
	// aggregate counts the replicas of all types by phase.
	// +optional
	Aggregate Aggregate `json:"aggregate,omitempty"`
	// conditions are the latest observations of the job, always in the same order.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []JobCondition `json:"conditions,omitempty"`

	// running is the number of replicas that run, of all that have not finished, as "3/4". Of a job that is over it is how many were
	// left running, as "2 left", or nothing. Extension, for kubectl's columns.
	// +optional
	Running string `json:"running,omitempty"`
	// observedGeneration is the metadata.generation that this status answers to. Extension.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// startTime is when the operator first started to create pods, or the first of them was created. Extension.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job was seen to have succeeded or failed. Extension.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// pauseTime is when the pause began that the job is in. Extension.
	// +optional
	PauseTime *metav1.Time `json:"pauseTime,omitempty"`
	// pausedSeconds is the sum in seconds of the pauses since startTime that are over. Extension.
	// +optional
	PausedSeconds int64 `json:"pausedSeconds,omitempty"`
	// pauseCount is the number of pauses of the running job that have begun. Once there was one, pods start as
	// spec.runMode.pause.resumeSpecs say. Extension.
	// +optional
	PauseCount int32 `json:"pauseCount,omitempty"`
	// backoffCount is the number of restarts that were counted against a limit, over all replicas. Extension.
	// +optional
	BackoffCount int32 `json:"backoffCount"`
	// disruptionCount is the number of replicas that were replaced because something outside the job ended them
	// (deletion, eviction, preemption, loss of the node). No limit counts them. Extension.
	// +optional
	DisruptionCount int32 `json:"disruptionCount"`
	// exceptedCount is the number of restarts that rules of spec.failurePolicy do not count. Extension.
	// +optional
	ExceptedCount int32 `json:"exceptedCount,omitempty"`
	// jobAttempt is how often the whole job was started over (restartScope Job). Extension.
	// +optional
	JobAttempt int32 `json:"jobAttempt,omitempty"`
	// inPlace is what there is to know of restarts in place of all replicas (restartStrategy InPlace, restartScope Job). Extension.
	// +optional
	InPlace *InPlaceStatus `json:"inPlace,omitempty"`
	// mode is the run mode that pods are made for. Extension.
	// +optional
	Mode string `json:"mode,omitempty"`
	// modeGeneration counts the changes of mode, and the edits of a job whose code has not started. Pods that were made for a lower one are replaced.
	// Extension.
	// +optional
	ModeGeneration int32 `json:"modeGeneration,omitempty"`
	// unstartedSpec is a hash of the spec that pods are made from, as long as no container of such a pod has started. Auxiliary replicas and
	// native sidecars do not matter. While it is there, a template may be edited without a pause. Extension.
	// +optional
	UnstartedSpec string `json:"unstartedSpec,omitempty"`
	// serviceName is the name of the job's Service where that is not the job's own. A Service of somebody else's had the job's name before the job's
	// first pod. The field does not change any more. Extension.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
	// gang is the group in which pods that are still to be placed are placed together. Only jobs of spec.scheduler.kubernetes
	// have it. Extension.
	// +optional
	Gang *GangStatus `json:"gang,omitempty"`
	// queue is the queue of Kueue's in which the job waits, or which has admitted it. Extension.
	// +optional
	Queue *KueueScheduler `json:"queue,omitempty"`
	// ledgerVersion says how this status is to be read. An operator leaves a job alone whose status has another one than its own, or none:
	// another build made it. Extension.
	// +optional
	LedgerVersion int32 `json:"ledgerVersion,omitempty"`
	// ledger records, by type, which replicas have finished and how often each was replaced. Extension.
	// +listType=map
	// +listMapKey=type
	// +optional
	Ledger []TaskLedger `json:"ledger,omitempty"`
	// progress is what the lowest replica that runs last told of its progress, by spec.progress or the groups of spec.heartbeat.stdout. With
	// preset megatron it is the highest, which prints there. It is written once a minute at most. Extension.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// time says what the time of the job was spent on. It is written beside what is written anyway. Extension.
	// +optional
	Time *JobTime `json:"time,omitempty"`
	// history is what came between the work of the job, and what that cost. It is written beside what is written anyway. Extension.
	// +optional
	History *History `json:"history,omitempty"`
	// recovery is how the job came back from its last loss of time; see kernel/time.md. It is written beside what is written anyway. Extension.
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`
	// firstFailure is the failure that others followed from: of the last restart that was counted, or of the job's end. It may change while more
	// becomes known of the ends of others, until the replicas run again. Extension.
	// +optional
	FirstFailure *FirstFailure `json:"firstFailure,omitempty"`
	// avoidedNodes are the nodes that the job's new pods avoid. Extension.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=node
	// +optional
	AvoidedNodes []AvoidedNode `json:"avoidedNodes,omitempty"`
	// nodeFailures are failures that count for a node; see spec.avoidNodes. Extension.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=node
	// +optional
	NodeFailures []NodeFailures `json:"nodeFailures,omitempty"`
	// noProgress is what failurePolicy.noProgress has counted so far. Extension.
	// +optional
	NoProgress *NoProgressStatus `json:"noProgress,omitempty"`
	// failures are the last failures of replicas, the newest last: five at most. Extension.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	Failures []ReplicaFailure `json:"failures,omitempty"`
	// rowsOmitted says that tasks have no rows of replicas: together with the spec they were larger than the cluster
	// stores. Extension.
	// +optional
	RowsOmitted bool `json:"rowsOmitted,omitempty"`
	// lastUpdateTime is when this status was last written; changes that only refresh the view of pods wait for a
	// second to pass since then. Extension.
	// +optional
	LastUpdateTime *metav1.MicroTime `json:"lastUpdateTime,omitempty"`
}

// Unobserved is status.observedGeneration of an object that the operator has not seen. CRDs have it by default: without it, deployment tools
// would take a new object for one that is done.
const Unobserved int64 = -1

// TaskStatus is the observed state of the replicas of one type.
type TaskStatus struct {
	// type is the replica type.
	Type string `json:"type"`
	// restartCount is the number of restarts that were counted against a limit, over all replicas of the type.
	// +optional
	RestartCount int32 `json:"restartCount,omitempty"`
	// replicas are the replicas in the order of their ranks. In a job of more than 1,000 replicas only those stand
	// here that need attention.
	// +listType=atomic
	// +optional
	Replicas []ReplicaStatus `json:"replicas,omitempty"`
}

// ReplicaStatus is the observed state of one replica.
type ReplicaStatus struct {
	// name is the name of the replica's pod.
	Name string `json:"name"`
	// uid is the UID of the replica's newest pod, empty if none was seen yet.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// phase is the phase of the pod, or Creating or Deleted. Creating: the pod is not scheduled yet, or not even there.
	// Deleted: it is gone and none will follow while this lasts.
	Phase ReplicaPhase `json:"phase"`
	// containers are the states of the pod's containers.
	// +listType=atomic
	// +optional
	Containers []ContainerStatus `json:"containers,omitempty"`
}

// ReplicaPhase is the phase of a replica: one of the five phases of a pod, Creating or Deleted.
type ReplicaPhase string

// The values of ReplicaPhase.
const (
	ReplicaCreating  ReplicaPhase = "Creating"
	ReplicaPending   ReplicaPhase = ReplicaPhase(corev1.PodPending)
	ReplicaRunning   ReplicaPhase = ReplicaPhase(corev1.PodRunning)
	ReplicaSucceeded ReplicaPhase = ReplicaPhase(corev1.PodSucceeded)
	ReplicaFailed    ReplicaPhase = ReplicaPhase(corev1.PodFailed)
	ReplicaUnknown   ReplicaPhase = ReplicaPhase(corev1.PodUnknown)
	ReplicaDeleted   ReplicaPhase = "Deleted"
)

// ContainerStatus is the observed state of one container.
type ContainerStatus struct {
	// name is the name of the container.
	Name string `json:"name"`
	// state is Waiting, Running or Terminated.
	// +optional
	State string `json:"state,omitempty"`
	// exitCode is the exit code of a container that has terminated.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// Aggregate counts replicas by phase. All counts are always shown.
type Aggregate struct {
	// creating counts replicas whose pod is not scheduled yet, or not even created.
	Creating int32 `json:"creating"`
	// pending counts replicas whose pod is scheduled and whose containers have not all started.
	Pending int32 `json:"pending"`
	// running counts replicas whose pod runs.
	Running int32 `json:"running"`
	// succeeded counts replicas that have succeeded, whether or not their pod is still there.
	Succeeded int32 `json:"succeeded"`
	// failed counts replicas that have failed.
	Failed int32 `json:"failed"`
	// unknown counts replicas whose pod's state could not be obtained.
	Unknown int32 `json:"unknown"`
	// deleted counts replicas whose pod is gone and will not come back while the job is paused or finished.
	Deleted int32 `json:"deleted"`
}

// JobCondition is one observation of a job.
type JobCondition struct {
	// type is the type of the condition.
	Type JobConditionType `json:"type"`
	// status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// reason says in one word why the condition is as it is; "-" where there is nothing to say.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message explains it to people: which pod, which exit code, what to do next.
	// +optional
	Message string `json:"message,omitempty"`
	// lastTransitionTime is when status last changed.
	// +optional
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
}

// JobConditionType names a condition of a job.
type JobConditionType string

// The conditions of a job, in the order in which they stand in its status.
const (
	// ConditionInitialized: the operator has accepted the job and begun to work on it.
	ConditionInitialized JobConditionType = "Initialized"
	// ConditionRunning: all unfinished replicas run.
	ConditionRunning JobConditionType = "Running"
	// ConditionFailed: the job has failed.
	ConditionFailed JobConditionType = "Failed"
	// ConditionSucceeded: the job has succeeded. Not there before the end. Extension.
	ConditionSucceeded JobConditionType = "Succeeded"
	// ConditionCompleted: the job is over, by success or by failure.
	ConditionCompleted JobConditionType = "Completed"
	// ConditionReplicaFailure: a pod failed, or cannot start.
	ConditionReplicaFailure JobConditionType = "ReplicaFailure"
	// ConditionPaused: the job is paused, and no unfinished replica has a pod any more.
	ConditionPaused JobConditionType = "Paused"
	// ConditionBlocked: the cluster refuses something that the job needs; the reason and message say what and what to
	// do. It goes away by itself. Extension.
	ConditionBlocked JobConditionType = "Blocked"
	// ConditionReady: the job is as its spec asks. It has started, has succeeded, or is paused. While replicas are replaced it stays True. It is
	// what deployment tools wait for. Extension.
	ConditionReady JobConditionType = "Ready"
	// ConditionReconciling: the job is not ready yet; reason and message say what it waits for. It is there only while it is True. Extension.
	ConditionReconciling JobConditionType = "Reconciling"
	// ConditionStalled: the job has failed, or waiting does not help: it has to be edited or created again. It is there only while it is True.
	// Extension.
	ConditionStalled JobConditionType = "Stalled"
)
