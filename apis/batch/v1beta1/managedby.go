package v1beta1

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
