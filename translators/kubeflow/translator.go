package kubeflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// All are the translators of Kubeflow's kinds. They are not part of the stock operator: its CRDs would get into the way of
// a training operator that is still there. Jobs are placed by the gang scheduler of that name: volcano, or a scheduler with the
// plugin Coscheduling; with "" each pod by itself.
func All(gangScheduler string) []framework.Registration {
	return []framework.Registration{
		framework.Register(inGangs(TFJobs, gangScheduler, tfPolicy)),
		framework.Register(inGangs(PyTorchJobs, gangScheduler, pytorchPolicy)),
	}
}

// TFJobs serves TFJobs.
var TFJobs = framework.Translator[*kubeflow.TFJob]{
	AddToScheme: kubeflow.AddToScheme,
	New:         func() *kubeflow.TFJob { return &kubeflow.TFJob{} },
	Compile:     CompileTFJob,
	Mirror: func(job *kubeflow.TFJob, s v1beta1.GenericJobStatus) {
		tensorflow.mirror(job, job.Spec.TFReplicaSpecs, cleans(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy), &job.Status, s)
	},
	Phase:          func(job *kubeflow.TFJob) v1beta1.JobPhase { return phaseOf(&job.Status) },
	CompletionTime: func(job *kubeflow.TFJob) *metav1.Time { return job.Status.CompletionTime },
	KnownToKueue:   true,
	TellsOfPods:    true,
}

// PyTorchJobs serves PyTorchJobs.
var PyTorchJobs = framework.Translator[*kubeflow.PyTorchJob]{
	AddToScheme: kubeflow.AddToScheme,
	New:         func() *kubeflow.PyTorchJob { return &kubeflow.PyTorchJob{} },
	Compile:     CompilePyTorchJob,
	Mirror: func(job *kubeflow.PyTorchJob, s v1beta1.GenericJobStatus) {
		pytorch.mirror(job, job.Spec.PyTorchReplicaSpecs, cleans(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy), &job.Status, s)
	},
	Phase:          func(job *kubeflow.PyTorchJob) v1beta1.JobPhase { return phaseOf(&job.Status) },
	CompletionTime: func(job *kubeflow.PyTorchJob) *metav1.Time { return job.Status.CompletionTime },
	Autoscales:     true,
	KnownToKueue:   true,
	TellsOfPods:    true,
}
