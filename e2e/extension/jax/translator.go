package jax

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// name is that of the container that trains, and of its port.
	name = "jax"
	// port is where the coordinator, which is process 0, listens. A container port named jax moves it.
	port = 6666
)

// Translator serves JAXJobs.
var Translator = framework.Translator[*JAXJob]{
	AddToScheme:    AddToScheme,
	New:            func() *JAXJob { return &JAXJob{} },
	Compile:        Compile,
	Mirror:         func(job *JAXJob, s v1beta1.GenericJobStatus) { framework.MirrorStatus(&job.Status, s) },
	Phase:          func(job *JAXJob) v1beta1.JobPhase { return job.Status.Phase },
	CompletionTime: func(job *JAXJob) *metav1.Time { return job.Status.CompletionTime },
}

// Compile makes a GenericJob of a JAXJob. Without a success rule the job succeeds when every process has. All run the same program, and
// each has its own part of the end, such as its shard of the last checkpoint. Unless the run policy says otherwise, a restart replaces
// all processes: "if any process crashes, then all other processes will also intentionally crash"
// (https://docs.jax.dev/en/latest/fault_tolerance.html).
func Compile(job *JAXJob) (framework.Program, error) {
	template := job.Spec.Template.DeepCopy()
	trains := framework.FindContainer(template, name)
	if trains == nil {
		return framework.Program{}, errors.New("spec.template.spec.containers: none is named jax: rename the one that trains")
	}
	framework.SetMainContainer(template, name)
	number := framework.EnsurePort(trains, name, port)
	framework.PutEnvFirst(trains,
		corev1.EnvVar{Name: "COORDINATOR_ADDRESS", Value: "$(service.process[0].host)"},
		corev1.EnvVar{Name: "COORDINATOR_PORT", Value: "$(service.port[jax])"},
		corev1.EnvVar{Name: "NUM_PROCESSES", Value: "$(replicas[process])"},
		corev1.EnvVar{Name: "PROCESS_ID", Value: "$(rank)"},
	)
	spec := v1beta1.GenericJobSpec{
		Service: &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: name, Port: number, Protocol: corev1.ProtocolTCP}}},
		ReplicaSpecs: []v1beta1.ReplicaSpec{{
			Type:          "process",
			Replicas:      ptr.To(ptr.Deref(job.Spec.Replicas, 1)),
			RestartPolicy: framework.RestartPolicy(v1beta1.RestartOnFailure),
			Template:      *template,
		}},
		RestartScope: v1beta1.RestartScopeJob, // the default: ApplyRunPolicy puts the user's in its place
		RunMode:      job.Spec.RunMode.DeepCopy(),
		Scheduler:    job.Spec.Scheduler.DeepCopy(),
	}
	framework.ApplyRunPolicy(&spec, job.Spec.RunPolicy)
	return framework.Program{Spec: spec, TTLSecondsAfterFinished: job.Spec.RunPolicy.TimeToLive()}, nil
}
