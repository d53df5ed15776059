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
	// Compile makes of a training job what shall run for it. Compile looks at name and spec alone: with its status, two reconciles could come to
	// different ends. It must not change the training job. An error is the user's to correct: it says which field, what was found, and what to write
	// instead. Such an error ends a training job that has not started. Required.
	Compile func(T) (Program, error)
	// Mirror shows the state of the training job's GenericJob in its own status. A condition without a time is as old as the one of the same status
	// that stands there, or begins at LastUpdateTime. If observedGeneration is 0, the one that stands there is still right. See MirrorStatus.
	// Required.
	Mirror func(T, v1beta1.GenericJobStatus)
	// Phase reads the phase that the job's own status shows. Succeeded and Failed are final: whatever happens to the
	// GenericJob of such a job, nothing is created for it any more. Required.
	Phase func(T) v1beta1.JobPhase
	// MirrorTensorBoard shows the state of the job's TensorBoard, nil for none. Required if Compile asks for one.
	MirrorTensorBoard func(T, *v1beta1.DependentStatus)
	// CompletionTime reads when the job has finished, as its own status shows; nil while it has not. Required if Compile
	// sets TTLSecondsAfterFinished.
	CompletionTime func(T) *metav1.Time
	// Default looks for what a user has left out and clients of the API read, where the CRD cannot fill it in. It returns what does so to
	// a copy of the job, nil if nothing is missing. The operator writes that into the job, once. Default: nothing is filled in.
	Default func(T) (fill func(T))
	// KnownToKueue says that Kueue queues jobs of the kind itself. Else the operator does, for those with the label that names a queue.
	KnownToKueue bool
	// Autoscales says that Compile may ask for an autoscaler.
	Autoscales bool
	// TellsOfPods says that clients of the kind wait for events SuccessfulCreatePod and SuccessfulCreateService about the training job. Each is one
	// write more. With more than 20 replicas there is one for all that a reconcile creates. Default: none.
	TellsOfPods bool
}

// Program is what a training job compiles to.
type Program struct {
	// Spec is the spec of the GenericJob. The GenericJob has the job's name. What the apiserver would default in it should be
	// written out, so that it equals what is stored.
	Spec v1beta1.GenericJobSpec
	// Data, if not empty, is put into a ConfigMap, called ConfigMapName, before the GenericJob gets this spec.
	Data map[string]string
	// SSHKeys, if not empty, is the name of a Secret with a key pair for ssh, made before the GenericJob gets this spec. The job's UID is a part
	// of it: whatever has this name already is the job's.
	SSHKeys string
	// TensorBoard, if not nil, is made beside the GenericJob, and stays when that is done.
	TensorBoard *TensorBoard
	// Foreign says that another controller runs this job: nothing is made, changed or shown for it. All else is empty
	// then.
	Foreign bool
	// TTLSecondsAfterFinished, if not nil, is the time in seconds after CompletionTime at which the job itself is deleted.
	// This time holds also if Compile returns an error. The field of that name in Spec stays empty: a GenericJob that goes before its owner would
	// be missed.
	TTLSecondsAfterFinished *int32
	// Autoscaler, if not nil, is the spec of a HorizontalPodAutoscaler with the job's name. The autoscaler goes when the job has finished, and when it
	// is no longer asked for.
	Autoscaler *autoscalingv2.HorizontalPodAutoscalerSpec
	// Elastic says that replicas may come and go while the others run. Their number is then taken over at once, even if another
	// part of an update has to wait for a pause. In other jobs all of it waits: what the replicas know of each other is in the
	// part that does.
	Elastic bool
	// Warnings tell the user of what may not be meant. They become Warning events.
	Warnings []Warning
}

// Warning is something that the user may not have meant.
type Warning struct {
	// Reason is one word in CamelCase.
	Reason string
	// Message says which field, what was found and what the operator makes of it.
	Message string
}

// TensorBoard asks for a TensorBoard.
type TensorBoard struct {
	// Spec is the user's.
	Spec v1beta1.TensorBoardSpec
	// Trains is the pod template that writes the logs: TensorBoard reads them as the same user, and with the same image
	// unless Spec names another.
	Trains *corev1.PodTemplateSpec
	// Container is the name of the container that trains.
	Container string
}

// ConfigMapName is the name of the ConfigMap with a program's data. Other data is another ConfigMap: a pod sees the data
// that its spec was compiled with, whatever is edited meanwhile.
func ConfigMapName(job string, data map[string]string) string {
	raw, err := json.Marshal(data) // sorts the keys
	if err != nil {
		raw = nil // cannot happen: strings can always be written
	}
	return job + "-" + v1beta1.Hash5(job, string(raw)) + v1beta1.Hash5(string(raw), job)
}

// Registration is a Translator without its type parameter, so that translators of different kinds fit into one list.
type Registration struct {
	AddToScheme       func(*runtime.Scheme) error
	New               func() client.Object
	Compile           func(client.Object) (Program, error)
	Mirror            func(client.Object, v1beta1.GenericJobStatus)
	Phase             func(client.Object) v1beta1.JobPhase
	MirrorTensorBoard func(client.Object, *v1beta1.DependentStatus)
	CompletionTime    func(client.Object) *metav1.Time
	Default           func(client.Object) (fill func(client.Object))
	KnownToKueue      bool
	Autoscales        bool
	TellsOfPods       bool
	// Revision names what Compile was made from, where that may change while the operator runs. The GenericJob of a job records it,
	// and the job stays with it. Default: it never changes.
	Revision string
}

// Register makes a Registration of a Translator.
func Register[T client.Object](t Translator[T]) Registration {
	r := Registration{
		AddToScheme:  t.AddToScheme,
		New:          func() client.Object { return t.New() },
		Compile:      func(o client.Object) (Program, error) { return t.Compile(o.(T)) },
		Mirror:       func(o client.Object, s v1beta1.GenericJobStatus) { t.Mirror(o.(T), s) },
		Phase:        func(o client.Object) v1beta1.JobPhase { return t.Phase(o.(T)) },
		KnownToKueue: t.KnownToKueue,
		Autoscales:   t.Autoscales,
		TellsOfPods:  t.TellsOfPods,
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
