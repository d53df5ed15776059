package framework

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Translator serves one kind T of training jobs. All its functions are pure.
type Translator[T client.Object] struct {
	// AddToScheme registers the kind. Required.
	AddToScheme func(*runtime.Scheme) error
	// New returns an empty object of the kind. Required.
	New func() T
	// Compile returns what is to run for a training job. It reads only name, UID and spec: if it read the status, two reconciles could come to different
	// programs. It must not change the training job. An error is a mistake of the user: it says which field, what was found, and what to write instead.
	// It ends a training job that has not started. Required.
	Compile func(T) (Program, error)
	// Mirror copies the status of the GenericJob to that of the training job. A condition without a time keeps the time of the training job's own, if
	// that has the same status; else it begins at LastUpdateTime. If observedGeneration is 0, the training job keeps its own. See MirrorStatus.
	// Required.
	Mirror func(T, v1beta1.GenericJobStatus)
	// Phase reads the phase from the job's own status. Succeeded and Failed are final: nothing is created for such a job any more, whatever happens to
	// its GenericJob. Required.
	Phase func(T) v1beta1.JobPhase
	// MirrorTensorBoard writes the state of the job's TensorBoard, nil for none, into its status. Required if Compile asks for one.
	MirrorTensorBoard func(T, *v1beta1.DependentStatus)
	// CompletionTime reads when the job has finished, as its own status shows; nil while it has not. Required if Compile
	// sets TTLSecondsAfterFinished.
	CompletionTime func(T) *metav1.Time
	// Default fills in fields that clients of the API read, and for which the CRD can have no default. It returns a function that sets them in a copy
	// of the job; nil if none is missing. The operator writes them into the job once. Nil fills in nothing.
	Default func(T) (fill func(T))
	// KnownToKueue says that Kueue queues jobs of the kind itself. Otherwise the operator queues jobs whose label names a queue.
	KnownToKueue bool
	// Autoscales says that Compile may ask for an autoscaler.
	Autoscales bool
	// EventsForPods says that clients of the kind wait for the events SuccessfulCreatePod and SuccessfulCreateService of the training job. Each event is
	// a write more. In a job of more than 20 replicas one event tells of all pods that a reconcile creates. Default: no such events.
	EventsForPods bool
}
