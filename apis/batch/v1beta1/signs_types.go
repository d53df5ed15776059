package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Heartbeat says what is seen of code that does not hang, and how long it may take until it is seen. Only time in which the code runs
// counts: waiting for others, stopping and restarting do not.
//
// +kubebuilder:validation:XValidation:rule="has(self.file) != has(self.stdout)",messageExpression="has(self.file) ? 'both file and stdout are set: which of them is the sign of life? Remove one' : 'neither file nor stdout is set: set the one that is the sign of life'",message="set file or stdout, and not both"
type Heartbeat struct {
	// file is the absolute path of a file that the code modifies now and then, in the container that trains. Each new time of modification is a sign
	// of life.
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	File string `json:"file,omitempty"`
	// stdout is a regular expression (RE2): each line of standard output or standard error that it matches is a sign of life. Of a
	// line the first 4 KiB are looked at; a carriage return ends one, too. What its groups named step and loss match, as in
	// "step (?P<step>[0-9]+) loss (?P<loss>[-+.e0-9]+)", is told in status.progress.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="stdout must be a regular expression of RE2's syntax (https://github.com/google/re2/wiki/Syntax)"
	// +optional
	Stdout string `json:"stdout,omitempty"`
	// startupSeconds is how long code may take from its start, in each attempt, to its first sign of life: it loads libraries, data and
	// checkpoints. Default 1800.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	StartupSeconds *int32 `json:"startupSeconds,omitempty"`
	// steadySeconds is how long code may take from one sign of life to the next: longer than the longest step, evaluation or checkpoint.
	// Default 600.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	// +optional
	SteadySeconds *int32 `json:"steadySeconds,omitempty"`
}

// ProgressFormat says by which lines of its output code tells how far it has come.
//
// +kubebuilder:validation:XValidation:rule="has(self.preset) != has(self.stdout)",messageExpression="has(self.stdout) ? 'both preset and stdout are set: which of them does the code print? Remove one' : 'neither preset nor stdout is set: name the program that prints, or set a regular expression with a group named step or loss'",message="set preset or stdout, and not both"
type ProgressFormat struct {
	// preset names what prints the lines: deepspeed, estimator (TensorFlow), keras, lightning, maxtext, megatron, nemo or torchtitan. Of keras
	// and lightning the step is the epoch, since their steps begin anew in each epoch.
	// +optional
	Preset ProgressPreset `json:"preset,omitempty"`
	// stdout is a regular expression (RE2) for lines of standard output or standard error, as that of heartbeat. It has a group named step or loss,
	// or both. Colours are taken out of a line first; a step may have commas, as in 12,000.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="''.matches(self) ? true : true",message="stdout must be a regular expression of RE2's syntax (https://github.com/google/re2/wiki/Syntax)"
	// +kubebuilder:validation:XValidation:rule="self.contains('<step>') || self.contains('<loss>')",message="stdout has no group named step or loss, so it tells no progress: write one as in \"step (?P<step>[0-9]+)\""
	// +optional
	Stdout string `json:"stdout,omitempty"`
}

// ProgressPreset names a program whose lines of progress the operator knows.
//
// +kubebuilder:validation:Enum=deepspeed;estimator;keras;lightning;maxtext;megatron;nemo;torchtitan
type ProgressPreset string

// Presets.
const (
	PresetDeepSpeed  ProgressPreset = "deepspeed"
	PresetEstimator  ProgressPreset = "estimator"
	PresetKeras      ProgressPreset = "keras"
	PresetLightning  ProgressPreset = "lightning"
	PresetMaxText    ProgressPreset = "maxtext"
	PresetMegatron   ProgressPreset = "megatron"
	PresetNeMo       ProgressPreset = "nemo"
	PresetTorchTitan ProgressPreset = "torchtitan"
)

// Progress is how far the code of a job has come, in its own words.
type Progress struct {
	// step is the last step, epoch or batch that the code told.
	// +optional
	Step *int64 `json:"step,omitempty"`
	// loss is the last loss that the code told: a number as the code wrote it, "nan" among them, of at most 24 bytes.
	// +kubebuilder:validation:MaxLength=24
	// +optional
	Loss string `json:"loss,omitempty"`
	// time is when the operator was told.
	// +optional
	Time metav1.Time `json:"time,omitempty"`
}
