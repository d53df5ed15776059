package pytorch

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Translator serves PyTorchTrainingJobs.
var Translator = framework.Translator[*v1beta1.PyTorchTrainingJob]{
	AddToScheme:    v1beta1.AddToScheme,
	New:            func() *v1beta1.PyTorchTrainingJob { return &v1beta1.PyTorchTrainingJob{} },
	Compile:        Compile,
	Mirror:         mirror,
	Phase:          func(job *v1beta1.PyTorchTrainingJob) v1beta1.JobPhase { return job.Status.Phase },
	CompletionTime: func(job *v1beta1.PyTorchTrainingJob) *metav1.Time { return job.Status.CompletionTime },
	MirrorTensorBoard: func(job *v1beta1.PyTorchTrainingJob, s *v1beta1.DependentStatus) {
		job.Status.TensorBoard = s
	},
}

// mirror adds what the scale subresource shows. The selector has a label in it that templates cannot overwrite.
func mirror(job *v1beta1.PyTorchTrainingJob, s v1beta1.GenericJobStatus) {
	framework.MirrorStatus(&job.Status.TrainingJobStatus, s)
	a := s.Aggregate
	job.Status.Replicas = a.Creating + a.Pending + a.Running + a.Unknown
	job.Status.Selector = v1beta1.LabelJobName + "=" + job.Name
}
