package framework

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Registration is a Translator without its type parameter, so that translators of different kinds fit into one list.
type Registration struct {
	AddToScheme func(*runtime.Scheme) error
	New         func() client.Object
	Compile     func(client.Object) (Program, error)
	// Mirror leaves the status as it is if it returns an error, which is a mistake of a definition.
	Mirror            func(client.Object, v1beta1.GenericJobStatus) error
	Phase             func(client.Object) v1beta1.JobPhase
	MirrorTensorBoard func(client.Object, *v1beta1.DependentStatus)
	CompletionTime    func(client.Object) *metav1.Time
	Default           func(client.Object) (fill func(client.Object))
	KnownToKueue      bool
	Autoscales        bool
	EventsForPods     bool
	// Revision names the revision of the definition that Compile comes from. It is recorded in the GenericJob, and the same revision goes on to compile
	// the job. "" stands for a translator that cannot change while the operator runs.
	Revision string
}

// Register returns the Registration of a Translator.
func Register[T client.Object](t Translator[T]) Registration {
	r := Registration{
		AddToScheme:   t.AddToScheme,
		New:           func() client.Object { return t.New() },
		Compile:       func(o client.Object) (Program, error) { return t.Compile(o.(T)) },
		Mirror:        func(o client.Object, s v1beta1.GenericJobStatus) error { t.Mirror(o.(T), s); return nil },
		Phase:         func(o client.Object) v1beta1.JobPhase { return t.Phase(o.(T)) },
		KnownToKueue:  t.KnownToKueue,
		Autoscales:    t.Autoscales,
		EventsForPods: t.EventsForPods,
	}
	if t.CompletionTime != nil {
		r.CompletionTime = func(o client.Object) *metav1.Time { return t.CompletionTime(o.(T)) }
	}
	if t.Default != nil {
		r.Default = func(o client.Object) func(client.Object) {
			fill := t.Default(o.(T))
			if fill == nil {
				return nil
			}
			return func(o client.Object) { fill(o.(T)) }
		}
	}
	if t.MirrorTensorBoard != nil {
		r.MirrorTensorBoard = func(o client.Object, s *v1beta1.DependentStatus) { t.MirrorTensorBoard(o.(T), s) }
	}
	return r
}
