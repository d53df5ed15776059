package v1beta1

// FailurePolicy says what becomes of failures, by what they are. Failures are ends of code. Nothing that something outside the job ends is judged:
// no limit counts it anyway. Auxiliary replicas are not judged either.
type FailurePolicy struct {
	// rules are tried in this order, and the first that matches decides. Where none does, restartPolicy and the limits decide as without rules.
	// With restartScope Job the rules judge the failure that came first, once for all that belong to it. What has been decided stays: an earlier
	// failure that becomes known later is told, and not judged.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +required
	Rules []FailurePolicyRule `json:"rules"`
}

// FailurePolicyRule is one rule of a FailurePolicy.
//
// +kubebuilder:validation:XValidation:rule="self.action == 'Restart' || !has(self.counts)",fieldPath=".counts",message="counts is about a restart, and action Fail makes none: remove counts, or set action to Restart"
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
