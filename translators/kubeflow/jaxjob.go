package kubeflow

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// CompileJAXJob makes a GenericJob of a JAXJob. It succeeds when every worker has.
func CompileJAXJob(job *kubeflow.JAXJob) (framework.Program, error) {
	program := newProgram(&job.Spec.RunPolicy, &kubeflow.InlineRunPolicy{})
	if program.Foreign {
		return program, nil
	}
	list, err := jaxKind.members(job.Spec.JAXReplicaSpecs)
	if err != nil {
		return program, err
	}
	program.Spec.FailureRules = failureRules(list, "")
	ports := jaxKind.addReplicas(&program, job.Name, list)
	replaceEnvInAll(&program, list,
		unbuffered,
		corev1.EnvVar{Name: "COORDINATOR_PORT", Value: strconv.Itoa(int(ports[worker]))},
		corev1.EnvVar{Name: "COORDINATOR_ADDRESS", Value: framework.HostVariable(worker, "0")},
		corev1.EnvVar{Name: "NUM_PROCESSES", Value: "$(replicas[*])"},
		corev1.EnvVar{Name: "PROCESS_ID", Value: "$(rank)"})
	return program, nil
}
