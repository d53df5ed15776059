package framework_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// ringJob is a kind whose replicas are all alike. A real one has its type and its CRD in apis. This one borrows those of PyTorchTrainingJobs.
type ringJob = v1beta1.PyTorchTrainingJob

// compileRing is all that differs between frameworks. It reads the name and the spec of the job alone, and changes neither.
func compileRing(job *ringJob) (framework.Program, error) {
	const trains, port = "ring", 7000
	if len(job.Spec.ReplicaSpecs) != 1 {
		return framework.Program{}, fmt.Errorf("spec.replicaSpecs has %d types: write one, worker", len(job.Spec.ReplicaSpecs))
	}
	r := &job.Spec.ReplicaSpecs[0]
	if err := framework.RequireContainer("spec.replicaSpecs[worker]", &r.Template, trains); err != nil {
		return framework.Program{}, err // the job fails with InvalidSpec, and the user reads this
	}
	template := *r.Template.DeepCopy() // the job is the cache's
	framework.SetMainContainer(&template, trains)
	c := framework.FindContainer(&template, trains)
	number := framework.EnsurePort(c, trains, port)
	framework.PutEnvFirst(c, // one template serves all ranks: what differs is a variable of the GenericJob
		corev1.EnvVar{Name: "RING_RANK", Value: "$(rank)"},
		corev1.EnvVar{Name: "RING_FIRST", Value: framework.HostVariable(r.Type, "0")})
	program := framework.Program{Spec: v1beta1.GenericJobSpec{
		RunMode:      job.Spec.RunMode.DeepCopy(),
		Scheduler:    job.Spec.Scheduler.DeepCopy(),
		Service:      &v1beta1.ServiceOption{},
		FailureRules: []v1beta1.FinishRule{framework.AnyOf(r.Type)}, // nobody can go on without a peer
		RestartScope: v1beta1.RestartScopeJob,                       // so all start over together, unless the user says otherwise
		ReplicaSpecs: []v1beta1.ReplicaSpec{{
			Type: r.Type, Replicas: ptr.To(ptr.Deref(r.Replicas, 1)), RestartPolicy: framework.RestartPolicy(r.RestartPolicy), Template: template,
		}},
	}, TTLSecondsAfterFinished: job.Spec.RunPolicy.TimeToLive()}
	framework.AddServicePort(program.Spec.Service, trains, number)
	framework.ApplyRunPolicy(&program.Spec, job.Spec.RunPolicy)
	return program, nil
}

func ExampleTranslator() {
	ring := framework.Translator[*ringJob]{
		AddToScheme: v1beta1.AddToScheme,
		New:         func() *ringJob { return &ringJob{} },
		Compile:     compileRing,
		Mirror: func(job *ringJob, s v1beta1.GenericJobStatus) {
			framework.MirrorStatus(&job.Status.TrainingJobStatus, s)
		},
		Phase:          func(job *ringJob) v1beta1.JobPhase { return job.Status.Phase },
		CompletionTime: func(job *ringJob) *metav1.Time { return job.Status.CompletionTime },
	}
	job := &ringJob{ObjectMeta: metav1.ObjectMeta{Name: "train"}}
	job.Spec.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{{Type: "worker", Replicas: ptr.To[int32](2)}}
	_, err := ring.Compile(job) // it has no container
	fmt.Println(err != nil)

	job.Spec.ReplicaSpecs[0].Template.Spec.Containers = []corev1.Container{{Name: "ring", Image: "ring:1"}}
	program, err := ring.Compile(job)
	worker := program.Spec.ReplicaSpecs[0]
	fmt.Println(err, *worker.Replicas, worker.RestartPolicy.Policy, *program.Spec.BackoffLimit)
	for _, v := range worker.Template.Spec.Containers[0].Env {
		fmt.Println(v.Name, v.Value)
	}

	ring.Mirror(job, v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning})
	fmt.Println(ring.Phase(job))
	// Output:
	// true
	// <nil> 2 OnFailure 3
	// RING_RANK $(rank)
	// RING_FIRST $(service.worker[0].host)
	// Running
}
