package v1beta1

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
