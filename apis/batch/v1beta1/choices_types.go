package v1beta1

// The choices that a GenericJob's spec has, each of a few values.

// ManagedBy names a controller.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Enum=batch.tensorstack.dev/genericjob;kueue.x-k8s.io/multikueue
type ManagedBy string

// The values of ManagedBy.
const (
	ManagedByGenericJob ManagedBy = "batch.tensorstack.dev/genericjob"
	ManagedByMultiKueue ManagedBy = "kueue.x-k8s.io/multikueue"
)

// IsForeign reports whether another controller runs the jobs that are managed so. Nothing is made, changed or shown for them.
func (m *ManagedBy) IsForeign() bool { return m != nil && *m != ManagedByGenericJob }

// PodNames says what pods are called.
//
// +kubebuilder:validation:Enum=Hashed;Plain
type PodNames string

// The values of PodNames.
const (
	PodNamesHashed PodNames = "Hashed"
	PodNamesPlain  PodNames = "Plain"
)

// StartPolicy says when the pods of a type are created.
//
// +kubebuilder:validation:Enum=AtOnce;AfterOthers;RestartAfterOthers
type StartPolicy string

// The values of StartPolicy.
const (
	StartAtOnce             StartPolicy = "AtOnce"
	StartAfterOthers        StartPolicy = "AfterOthers"
	StartRestartAfterOthers StartPolicy = "RestartAfterOthers"
)

// RestartStrategy says how code is run again.
// +kubebuilder:validation:Enum=Recreate;InPlace
type RestartStrategy string

// The values of RestartStrategy.
const (
	RestartRecreate RestartStrategy = "Recreate"
	RestartInPlace  RestartStrategy = "InPlace"
)

// RestartPolicyType names when a replica is started again.
//
// +kubebuilder:validation:Enum=Always;OnFailure;Never;ExitCode
type RestartPolicyType string

// The values of RestartPolicyType.
const (
	RestartAlways    RestartPolicyType = "Always"
	RestartOnFailure RestartPolicyType = "OnFailure"
	RestartNever     RestartPolicyType = "Never"
	RestartExitCode  RestartPolicyType = "ExitCode"
)
