package kubeflow

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// All returns the translators of Kubeflow's kinds. The stock operator does not serve them: their CRDs would conflict with those of a training operator
// that still runs. GangScheduler is the name of the scheduler that places jobs as gangs: volcano, or one with the plugin Coscheduling. With "" each
// pod is placed by itself. MakesKeys says that the operator creates the keys of MPIJobs.
func All(gangScheduler string, makesKeys bool) []framework.Registration {
	mpiJobs := MPIJobs
	if makesKeys {
		mpiJobs = MPIJobsWithKeys
	}
	return []framework.Registration{
		framework.Register(inGangs(TFJobs, gangScheduler, tfPolicy)),
		framework.Register(inGangs(PyTorchJobs, gangScheduler, pytorchPolicy)),
		framework.Register(inGangs(XGBoostJobs, gangScheduler, xgboostPolicy)),
		framework.Register(inGangs(PaddleJobs, gangScheduler, paddlePolicy)),
		framework.Register(inGangs(JAXJobs, gangScheduler, jaxPolicy)),
		framework.Register(inGangs(mpiJobs, gangScheduler, mpiPolicy)),
	}
}

// TFJobs serves TFJobs.
var TFJobs = framework.Translator[*kubeflow.TFJob]{
	AddToScheme: kubeflow.AddToScheme,
	New:         func() *kubeflow.TFJob { return &kubeflow.TFJob{} },
	Compile:     CompileTFJob,
	Mirror: func(job *kubeflow.TFJob, s v1beta1.GenericJobStatus) {
		tfKind.mirror(job, job.Spec.TFReplicaSpecs, cleansUp(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy), &job.Status, s)
	},
	Phase:          func(job *kubeflow.TFJob) v1beta1.JobPhase { return phaseOf(&job.Status) },
	CompletionTime: func(job *kubeflow.TFJob) *metav1.Time { return job.Status.CompletionTime },
	KnownToKueue:   true,
	EventsForPods:  true,
}

// PyTorchJobs serves PyTorchJobs.
var PyTorchJobs = framework.Translator[*kubeflow.PyTorchJob]{
	AddToScheme: kubeflow.AddToScheme,
	New:         func() *kubeflow.PyTorchJob { return &kubeflow.PyTorchJob{} },
	Compile:     CompilePyTorchJob,
	Mirror: func(job *kubeflow.PyTorchJob, s v1beta1.GenericJobStatus) {
		pytorchKind.mirror(job, job.Spec.PyTorchReplicaSpecs, cleansUp(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy), &job.Status, s)
	},
	Phase:          func(job *kubeflow.PyTorchJob) v1beta1.JobPhase { return phaseOf(&job.Status) },
	CompletionTime: func(job *kubeflow.PyTorchJob) *metav1.Time { return job.Status.CompletionTime },
	Autoscales:     true,
	KnownToKueue:   true,
	EventsForPods:  true,
}

// XGBoostJobs serves XGBoostJobs.
var XGBoostJobs = serve(kubeflow.AddToScheme, func() *kubeflow.XGBoostJob { return &kubeflow.XGBoostJob{} }, CompileXGBoostJob, &xgboostKind,
	func(job *kubeflow.XGBoostJob) kubeflow.CleanPodPolicy { return job.Spec.RunPolicy.CleanPodPolicy })

// PaddleJobs serves PaddleJobs.
var PaddleJobs = autoscaled(serve(kubeflow.AddToScheme, func() *kubeflow.PaddleJob { return &kubeflow.PaddleJob{} }, CompilePaddleJob, &paddleKind,
	func(job *kubeflow.PaddleJob) kubeflow.CleanPodPolicy { return job.Spec.RunPolicy.CleanPodPolicy }))

// JAXJobs serves JAXJobs.
var JAXJobs = serve(kubeflow.AddToScheme, func() *kubeflow.JAXJob { return &kubeflow.JAXJob{} }, CompileJAXJob, &jaxKind,
	func(job *kubeflow.JAXJob) kubeflow.CleanPodPolicy { return job.Spec.RunPolicy.CleanPodPolicy })

// MPIJobs serves MPIJobs, whose pods mount the key pair of their namespace.
var MPIJobs = serveMPIJobs(CompileMPIJob, &mpiKind)

// MPIJobsWithKeys serves MPIJobs, and asks for a key pair for each.
var MPIJobsWithKeys = serveMPIJobs(compileWithKeys, withoutNeeds(mpiKind))

func serveMPIJobs(compile func(*v2beta1.MPIJob) (framework.Program, error), k *kind) framework.Translator[*v2beta1.MPIJob] {
	return serve(v2beta1.AddToScheme, func() *v2beta1.MPIJob { return &v2beta1.MPIJob{} }, compile, k,
		func(job *v2beta1.MPIJob) kubeflow.CleanPodPolicy { return job.Spec.RunPolicy.CleanPodPolicy })
}

// withoutNeeds returns a kind whose pods need nothing that the user has to create.
func withoutNeeds(k kind) *kind {
	k.missingMessage = ""
	return &k
}

// serve returns the translator of a kind whose run policy stands in runPolicy alone.
func serve[T kubeflow.Job](
	addToScheme func(*runtime.Scheme) error, empty func() T, compile func(T) (framework.Program, error), k *kind, clean func(T) kubeflow.CleanPodPolicy,
) framework.Translator[T] {
	return framework.Translator[T]{
		AddToScheme: addToScheme,
		New:         empty,
		Compile:     compile,
		Mirror: func(job T, s v1beta1.GenericJobStatus) {
			_, specs := job.Replicas()
			k.mirror(job, specs, cleansUp(&kubeflow.RunPolicy{}, &kubeflow.InlineRunPolicy{CleanPodPolicy: clean(job)}), job.State(), s)
		},
		Phase:          func(job T) v1beta1.JobPhase { return phaseOf(job.State()) },
		CompletionTime: func(job T) *metav1.Time { return job.State().CompletionTime },
		KnownToKueue:   true,
		EventsForPods:  true,
	}
}

func autoscaled[T kubeflow.Job](t framework.Translator[T]) framework.Translator[T] {
	t.Autoscales = true
	return t
}
