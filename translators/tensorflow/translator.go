package tensorflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Translator serves TensorFlowTrainingJobs.
var Translator = framework.Translator[*v1beta1.TensorFlowTrainingJob]{
	AddToScheme: v1beta1.AddToScheme,
	New:         func() *v1beta1.TensorFlowTrainingJob { return &v1beta1.TensorFlowTrainingJob{} },
	Compile:     Compile,
	Mirror: func(job *v1beta1.TensorFlowTrainingJob, s v1beta1.GenericJobStatus) {
		framework.MirrorStatus(&job.Status, s)
	},
	Phase:          func(job *v1beta1.TensorFlowTrainingJob) v1beta1.JobPhase { return job.Status.Phase },
	CompletionTime: func(job *v1beta1.TensorFlowTrainingJob) *metav1.Time { return job.Status.CompletionTime },
	MirrorTensorBoard: func(job *v1beta1.TensorFlowTrainingJob, s *v1beta1.DependentStatus) {
		job.Status.TensorBoard = s
	},
}
