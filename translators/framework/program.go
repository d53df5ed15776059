package framework

import (
	"encoding/json"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

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
