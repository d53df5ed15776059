package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// What the kinds of training jobs (TensorFlowTrainingJob, PyTorchTrainingJob) have in common.

// RunPolicy says how long a training job may run, how often it restarts, and what stays of it.
//
// +kubebuilder:validation:XValidation:rule="!has(self.failurePolicy) || !has(self.failurePolicy.noProgress) || (has(self.progress) ? (has(self.progress.stdout) ? self.progress.stdout.contains('<step>') : !(has(self.progress.preset) && self.progress.preset in ['keras', 'lightning'])) : has(self.heartbeat) && has(self.heartbeat.stdout) && self.heartbeat.stdout.contains('<step>'))",fieldPath=".failurePolicy.noProgress",message="noProgress compares the steps that code prints, and nobody reads any: set progress.stdout to an expression with a group named step, as in 'step (?P<step>[0-9]+)', or remove noProgress. Of keras and lightning the step is the epoch, within which a job may move"
type RunPolicy struct {
	// activeDeadlineSeconds is the time in seconds that the job may be active, counted from status.startTime; the clock
	// stops while the job is paused. When it is over the job fails with reason DeadlineExceeded. Default: no limit.
	// +kubebuilder:validation:Minimum=1
	// +optional
	ActiveDeadlineSeconds *int64 `json:"activeDeadlineSeconds,omitempty"`
	// backoffLimit is the number of restarts that all replicas share: exactly so many are made. Default 3.
	// +kubebuilder:validation:Minimum=0
	// +optional
	BackoffLimit *int32 `json:"backoffLimit,omitempty"`
	// failurePolicy says what becomes of failures, by their cause, exit code or words; see GenericJob. Extension.
	// +optional
	FailurePolicy *FailurePolicy `json:"failurePolicy,omitempty"`
	// cleanUpPolicy says which pods are deleted once the job has finished. Unfinished (default): those that have not finished, which would hold
	// their GPUs, after a success 30 seconds later; None: no pod; All: every pod. Pods that failed stay with their logs, unless it is All, or they failed while they were being deleted. The
	// lower-case spellings mean the same.
	// +optional
	CleanUpPolicy CleanUpPolicy `json:"cleanUpPolicy,omitempty"`
	// restartScope says what a restart replaces. Replica: the replica that ended. Job: every replica, counted as one restart. Default: Job where
	// replicas train in step and none can go on without the others; else Replica. So it is Job for TensorFlow without ps, and for PyTorch, unless
	// that is elastic or torchrunConfig.maxRestarts is above 0. Immutable while the job runs. Extension.
	// +optional
	RestartScope RestartScope `json:"restartScope,omitempty"`
	// restartStrategy says how code is run again. Recreate (default): in a new pod. InPlace: in the pod that is there, within
	// seconds; see GenericJob. Extension.
	// +optional
	RestartStrategy RestartStrategy `json:"restartStrategy,omitempty"`
	// heartbeat has code that hangs end with its stacks in the log, exit code 124 and a termination message; see GenericJob.
	// Immutable while the job runs. Extension.
	// +optional
	Heartbeat *Heartbeat `json:"heartbeat,omitempty"`
	// progress says by which lines of output the code tells how far it has come; see GenericJob. Immutable while the job runs. Extension.
	// +optional
	Progress *ProgressFormat `json:"progress,omitempty"`
	// nodeLost says how long the job's pods wait for a node that does not answer, before they are replaced; see GenericJob. Immutable while the
	// job runs. Extension.
	// +optional
	NodeLost *NodeLost `json:"nodeLost,omitempty"`
	// avoidNodes has the job keep off nodes on which its code fails; see GenericJob. It may change at any time. Extension.
	// +optional
	AvoidNodes *AvoidNodes `json:"avoidNodes,omitempty"`
	// stopTogether has all replicas stop, with time to save what they have, as soon as one of them is being deleted. It is for
	// restartScope Job; see GenericJob. Default false. Extension.
	// +optional
	StopTogether bool `json:"stopTogether,omitempty"`
	// ttlSecondsAfterFinished is the time in seconds after which a finished job is deleted, with its pods. Default: the job
	// is kept. Extension (as in batch/v1 Job).
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TrainingJobStatus is the observed state of a training job. It shows what the status of the job's GenericJob says; the
// operator's memory (the ledger) stays there.
type TrainingJobStatus struct {
	// phase is where the job is in its life, in one word. Succeeded and Failed are final.
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
	// backoffCount is the number of restarts that were counted against a limit, over all replicas.
	// +optional
	BackoffCount int32 `json:"backoffCount"`
	// tensorboard is the state of the TensorBoard that spec.tensorboardSpec asks for.
	// +optional
	TensorBoard *DependentStatus `json:"tensorboard,omitempty"`

	// running is the number of replicas that run, of all that have not finished, as "3/4". Of a job that is over it is how many were
	// left running, as "2 left", or nothing. Extension, for kubectl's columns.
	// +optional
	Running string `json:"running,omitempty"`
	// observedGeneration is the metadata.generation that this status answers to. Extension.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// unstartedSpec is there as long as no container of the job has started: a template may be edited without a pause. Extension.
	// +optional
	UnstartedSpec string `json:"unstartedSpec,omitempty"`
	// startTime is when the operator first started to create pods. Extension.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// completionTime is when the job was seen to have succeeded or failed. Extension.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// disruptionCount is the number of replicas that were replaced because something outside the job ended them
	// (deletion, eviction, preemption, loss of the node). No limit counts them. Extension.
	// +optional
	DisruptionCount int32 `json:"disruptionCount"`
	// exceptedCount is the number of restarts that rules of spec.runPolicy.failurePolicy do not count. Extension.
	// +optional
	ExceptedCount int32 `json:"exceptedCount,omitempty"`
	// progress is what the replicas last told of their progress; see spec.progress of GenericJob. Extension.
	// +optional
	Progress *Progress `json:"progress,omitempty"`
	// time says what the time of the job was spent on, from the first sight of its GenericJob on. Extension.
	// +optional
	Time *JobTime `json:"time,omitempty"`
	// history is what came between the work of the job, and what that cost. Extension.
	// +optional
	History *History `json:"history,omitempty"`
	// recovery is how the job came back from its last loss of time. Extension.
	// +optional
	Recovery *Recovery `json:"recovery,omitempty"`
	// firstFailure is the failure that others followed from: of the last restart that was counted, or of the job's end. Extension.
	// +optional
	FirstFailure *FirstFailure `json:"firstFailure,omitempty"`
	// avoidedNodes are the nodes that the job's new pods avoid. Extension.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=node
	// +optional
	AvoidedNodes []AvoidedNode `json:"avoidedNodes,omitempty"`
	// failures are the last failures of replicas, the newest last: five at most. Extension.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	Failures []ReplicaFailure `json:"failures,omitempty"`
}

// TimeToLive is for how many seconds a finished job is kept; nil: for ever.
func (p *RunPolicy) TimeToLive() *int32 {
	if p == nil {
		return nil
	}
	return p.TTLSecondsAfterFinished
}
