package pytorch

import (
	"slices"

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
	Default:        fillInExpected,
	CompletionTime: func(job *v1beta1.PyTorchTrainingJob) *metav1.Time { return job.Status.CompletionTime },
	MirrorTensorBoard: func(job *v1beta1.PyTorchTrainingJob, s *v1beta1.DependentStatus) {
		job.Status.TensorBoard = s
	},
}

// fillInExpected fills in how many replicas an elastic job is to have. Without it the scale subresource cannot be read.
func fillInExpected(job *v1beta1.PyTorchTrainingJob) func(*v1beta1.PyTorchTrainingJob) {
	if e := job.Spec.Elastic; !e.IsOn() || e.ExpectedReplicas != nil {
		return nil
	}
	return func(job *v1beta1.PyTorchTrainingJob) {
		job.Spec.Elastic.ExpectedReplicas = new(expected(job.Spec.Elastic))
	}
}

// mirror adds what the scale subresource shows. Its selector names labels that templates cannot overwrite. Rows and selector leave out the store,
// which the user has not asked for.
func mirror(job *v1beta1.PyTorchTrainingJob, s v1beta1.GenericJobStatus) {
	selector := v1beta1.LabelJobName + "=" + job.Name
	if hasStore(job) {
		s.Tasks = slices.DeleteFunc(slices.Clone(s.Tasks), func(t v1beta1.TaskStatus) bool { return t.Type == RendezvousType })
		selector += "," + v1beta1.LabelReplicaType + " notin (" + RendezvousType + ")" // not !=, which kubectl does not read
	}
	framework.MirrorStatus(&job.Status.TrainingJobStatus, s)
	a := s.Aggregate
	job.Status.Replicas = a.Creating + a.Pending + a.Running + a.Unknown
	job.Status.Selector = selector
}
