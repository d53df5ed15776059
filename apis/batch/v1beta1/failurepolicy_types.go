package v1beta1

// FailurePolicy says what becomes of failures, by what they are. Failures are ends of code. It says nothing of what something outside the job ends:
// no limit counts that anyway. Nor does it of auxiliary replicas. At least one of its fields is set.
//
// +kubebuilder:validation:MinProperties=1
type FailurePolicy struct {
	// rules are tried in this order, and the first that matches decides. Where none does, restartPolicy and the limits decide as without rules.
	// With restartScope Job the rules decide about the failure that came first, once for all that belong to it. What has been decided stays: an earlier
	// failure that becomes known later is told, and changes nothing.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Rules []FailurePolicyRule `json:"rules,omitempty"`
	// noProgress fails a job that fails again and again for one cause, without a newer step. Default: the limits alone end it.
	// +optional
	NoProgress *NoProgress `json:"noProgress,omitempty"`
}

// NoProgress fails a job after so many counted failures in a row with the same first cause and no newer step. It does so whatever the limits leave.
// It compares the highest step that the group named step of progress or heartbeat.stdout has found. It is for jobs with restartScope Job, or with one
// replica.
type NoProgress struct {
	// rounds is how many failures in a row end the job: the last is not restarted.
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=100
	// +required
	Rounds int32 `json:"rounds"`
}

// NoProgressStatus is what the operator remembers for noProgress of a failure policy: the last counted failure of which cause and step are known.
type NoProgressStatus struct {
	// rounds is how many counted failures in a row had this cause, and no newer step.
	Rounds int32 `json:"rounds"`
	// cause is the kind of the first failure.
	Cause CauseKind `json:"cause"`
	// type is the type of the replica that failed first.
	// +kubebuilder:validation:MaxLength=60
	Type string `json:"type"`
	// exception is the type of its exception, without the text.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Exception string `json:"exception,omitempty"`
	// exitCode is that of its worker, if its launcher tells it, or else of its container.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// replica is the one whose steps are compared, as in worker-0.
	// +kubebuilder:validation:MaxLength=80
	Replica string `json:"replica"`
	// step is the highest that it had told; absent if it had told none.
	// +optional
	Step *int64 `json:"step,omitempty"`
	// attempt is the one in which it failed. What fails in another one than the next does not follow.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// modeGeneration is the one in which it failed: after a pause a new series begins.
	// +optional
	ModeGeneration int32 `json:"modeGeneration,omitempty"`
}

// FailurePolicyRule is one rule of a FailurePolicy.
//
// +kubebuilder:validation:XValidation:rule="self.action == 'Restart' || !has(self.counts)",fieldPath=".counts",message="counts is about a restart, and action Fail makes none: remove counts, or set action to Restart"
// +kubebuilder:validation:XValidation:rule="self.action == 'Restart' || !has(self.elsewhere)",fieldPath=".elsewhere",message="elsewhere is about a restart, and action Fail makes none: remove elsewhere, or set action to Restart"
type FailurePolicyRule struct {
	// name is how messages call the rule. Default: its number, from 1.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Name string `json:"name,omitempty"`
	// match says which failures the rule is about. All that it names must hold. (It is not called on, which YAML 1.1 reads as true.)
	// +required
	Match FailureMatch `json:"match"`
	// action is what becomes of the job. Fail: it fails at once, whatever its limits leave. Restart: the replica, or with restartScope Job all
	// replicas, are started again, even where restartPolicy would not.
	// +required
	Action FailureAction `json:"action"`
	// counts tells if a limit counts the restart. Where it does, and no restart is left, the failure is final. Where it does not, only the
	// delay between restarts slows it, which grows to five minutes. Default true.
	// +optional
	Counts *bool `json:"counts,omitempty"`
	// elsewhere has the job's new pods avoid the node of such a failure at once, whatever avoidNodes.after says: for its within, and within its
	// atMost. Of failures that belong together the first counts. It needs avoidNodes, of the job or the operator's default. Default false.
	// +optional
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// FailureAction is what becomes of a job by a rule.
//
// +kubebuilder:validation:Enum=Fail;Restart
type FailureAction string

// The values of FailureAction.
const (
	FailureActionFail    FailureAction = "Fail"
	FailureActionRestart FailureAction = "Restart"
)

// FailureMatch says which failures a rule matches; at least one of its fields is set. Causes and messages are words of code, or what they mean. So
// they never match a failure that follows from the end of another.
//
// +kubebuilder:validation:MinProperties=1
type FailureMatch struct {
	// causes are kinds of failure, as status.failures has them: one of them must be that of the failure.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
	// +listType=set
	// +optional
	Causes []CauseKind `json:"causes,omitempty"`
	// exitCodes are exit codes: one of them must be that of the worker, where its launcher tells it, or else of the container. 128 and the
	// number of a signal stand for that, as in 137 for SIGKILL.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	// +listType=set
	// +optional
	ExitCodes []int32 `json:"exitCodes,omitempty"`
	// messages is a regular expression (RE2) that must match somewhere in the exception, or, where none is known, in the message of the failure.
	// Both are cut to 256 bytes.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="messages must be a regular expression of RE2's syntax (https://github.com/google/re2/wiki/Syntax)"
	// +optional
	Messages string `json:"messages,omitempty"`
	// types are replica types: one of them must be that of the replica.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=60
	// +listType=set
	// +optional
	Types []string `json:"types,omitempty"`
}
