package framework

import (
	"encoding/json"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
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

// Program is what a training job compiles to.
type Program struct {
	// Spec is the spec of the GenericJob, which gets the name of the training job. It should have all defaults that the apiserver would fill in, so that
	// it is equal to what is stored.
	Spec v1beta1.GenericJobSpec
	// Data, if not empty, is the content of a ConfigMap that is created before the GenericJob gets this spec; see ConfigMapName.
	Data map[string]string
	// SSHKeys, if not empty, is the name of a Secret with a key pair for ssh, which is created before the GenericJob gets this spec. The name has the
	// job's UID in it, so an existing Secret of that name is the job's.
	SSHKeys string
	// TensorBoard, if not nil, is created beside the GenericJob, and stays when the job has finished.
	TensorBoard *TensorBoard
	// Foreign says that another controller runs this job: the operator does nothing for it. All else is empty then.
	Foreign bool
	// TTLSecondsAfterFinished, if not nil, is how many seconds after CompletionTime the training job is deleted. It counts even if Compile returns an
	// error. The field of that name in Spec stays empty: the GenericJob must not be deleted before its owner.
	TTLSecondsAfterFinished *int32
	// Autoscaler, if not nil, is the spec of a HorizontalPodAutoscaler with the job's name. It is deleted when the job has finished, or asks for none
	// any more.
	Autoscaler *autoscalingv2.HorizontalPodAutoscalerSpec
	// Elastic says that replicas may come and go while the others run. Then a change of their number takes effect at once, even if another part of the
	// update has to wait for a pause. In other jobs the number waits, too: the templates, which wait, tell each replica of the others.
	Elastic bool
	// Warnings tell of what the user may not have meant. They become Warning events.
	Warnings []Warning
}

// Warning is something that the user may not have meant.
type Warning struct {
	// Reason is one word in CamelCase.
	Reason string
	// Message says which field, what was found, and what the operator does with it.
	Message string
}

// TensorBoard asks for a TensorBoard.
type TensorBoard struct {
	// Spec is what the user asks for.
	Spec v1beta1.TensorBoardSpec
	// Trains is the template of the pods that write the logs. TensorBoard reads the logs as the same user, and has the same image unless Spec names
	// another.
	Trains *corev1.PodTemplateSpec
	// Container is the name of the container that trains.
	Container string
}

// ConfigMapName returns the name of the ConfigMap with a program's data, which is a hash of the data. Other data makes another ConfigMap, so a pod
// sees the data that its spec was compiled with, whatever is edited meanwhile.
func ConfigMapName(job string, data map[string]string) string {
	raw, err := json.Marshal(data) // sorts the keys
	if err != nil {
		raw = nil // cannot happen: strings can always be written
	}
	return job + "-" + v1beta1.Hash5(job, string(raw)) + v1beta1.Hash5(string(raw), job)
}

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
