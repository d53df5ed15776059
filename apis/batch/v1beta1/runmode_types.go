package v1beta1

// RunMode says how a job executes. Immediate mode is the default: neither debug nor pause is enabled. If both are,
// pause wins.
type RunMode struct {
	// debug starts the pods with a command that only sleeps instead of the training, so that you can look around in
	// them.
	// +optional
	Debug *DebugMode `json:"debug,omitempty"`
	// pause stops the job: its pods are deleted gracefully and none is created until pause is over.
	// +optional
	Pause *PauseMode `json:"pause,omitempty"`
}

// Pauses reports whether the mode pauses the job.
func (m *RunMode) Pauses() bool {
	return m != nil && m.Pause != nil && (m.Pause.Enabled || m.Pause.Enable)
}

// Debugs reports whether the mode debugs the job; a pause wins.
func (m *RunMode) Debugs() bool {
	return m != nil && m.Debug != nil && (m.Debug.Enabled || m.Debug.Enable) && !m.Pauses()
}

// DebugMode reports whether and how a job runs in debug mode.
type DebugMode struct {
	// enabled switches debug mode on. Default false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// enable is an older spelling of enabled; either one switches the mode on.
	// +optional
	Enable bool `json:"enable,omitempty"`
	// replicaSpecs override how replicas of a type start in debug mode. Types that are not listed use the defaults; one
	// that the job does not have is ignored, with a warning.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	ReplicaSpecs []ReplicaDebugSet `json:"replicaSpecs,omitempty"`
}

// ReplicaDebugSet says how replicas of one type start in debug mode.
type ReplicaDebugSet struct {
	// type is the replica type that this applies to.
	// +kubebuilder:validation:MaxLength=60
	// +required
	Type string `json:"type"`
	// skipInitContainer leaves out the init containers. Default false.
	// +optional
	SkipInitContainer bool `json:"skipInitContainer,omitempty"`
	// command is what the containers run. Default ["sleep", "inf"].
	// +kubebuilder:validation:MaxItems=1024
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
}

// PauseMode reports whether a job is paused and how it resumes.
type PauseMode struct {
	// enabled pauses the job. Default false.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
	// enable is an older spelling of enabled; either one pauses the job.
	// +optional
	Enable bool `json:"enable,omitempty"`
	// resumeSpecs override how replicas of a type start once the job, having run before, is resumed. Types that are
	// not listed start as their template says.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=type
	// +optional
	ResumeSpecs []ResumeSpec `json:"resumeSpecs,omitempty"`
}

// ResumeSpec says how replicas of one type start after a pause.
type ResumeSpec struct {
	// type is the replica type that this applies to.
	// +kubebuilder:validation:MaxLength=60
	// +required
	Type string `json:"type"`
	// skipInitContainer leaves out the init containers. Default false.
	// +optional
	SkipInitContainer bool `json:"skipInitContainer,omitempty"`
	// command replaces the training container's command: that of the container which the template's annotation
	// kubectl.kubernetes.io/default-container names, else the first. Default: the template's.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// args replace the training container's args. Default: the template's.
	// +kubebuilder:validation:MaxItems=1024
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
}
