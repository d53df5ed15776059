package v1beta1

// PodNames says what pods are called.
//
// +kubebuilder:validation:Enum=Hashed;Plain
type PodNames string

// The values of PodNames.
const (
	PodNamesHashed PodNames = "Hashed"
	PodNamesPlain  PodNames = "Plain"
)
