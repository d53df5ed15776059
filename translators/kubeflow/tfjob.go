package kubeflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// CompileTFJob makes a GenericJob of a TFJob.
func CompileTFJob(job *kubeflow.TFJob) (framework.Program, error) {
	program := newProgram(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy)
	if program.Foreign {
		return program, nil
	}
	list, err := tfKind.members(job.Spec.TFReplicaSpecs)
	if err != nil {
		return program, err
	}
	if find(list, chief) != nil && find(list, master) != nil {
		return program, errors.New("spec.tfReplicaSpecs has Chief and Master, which are two names for one thing: keep one of them")
	}
	switch name := leader(list); {
	case name == "":
		// Parameter servers and evaluators alone: the job succeeds when all of them have.
	case name == worker && job.Spec.SuccessPolicy != kubeflow.SuccessPolicyAllWorkers:
		program.Spec.SuccessRules = []v1beta1.FinishRule{{worker: {firstRank}}}
	default:
		program.Spec.SuccessRules = []v1beta1.FinishRule{{name: {}}}
	}
	spared := ""
	if job.Spec.EnableDynamicWorker {
		spared, program.Elastic = worker, true
	}
	program.Spec.FailureRules = failureRules(list, spared)
	ports := tfKind.addReplicas(&program, job.Name, list)
	return program, setTFConfig(&program, job, list, ports)
}

// setTFConfig sets TF_CONFIG in all replicas. A job of one replica gets none: TensorFlow then trains by itself.
func setTFConfig(program *framework.Program, job *kubeflow.TFJob, list []member, ports map[string]int32) error {
	total := int32(0)
	for _, m := range list {
		total += m.replicas
	}
	if total == 1 {
		return nil
	}
	c := &tfCluster{job: job.Name, ports: ports, members: slices.Clone(list)}
	slices.SortFunc(c.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	var variables []corev1.EnvVar
	if !job.Spec.EnableDynamicWorker {
		if length := c.length(); length > maxString {
			return fmt.Errorf("spec.tfReplicaSpecs: %s for these %d replicas is %d bytes long, but Linux allows %d for one environment variable: use fewer replicas or a shorter metadata.name",
				configVariable, total, length, maxString)
		}
		program.Data = c.data()
		variables = c.environment(program.Data)
	}
	for i, m := range list {
		container := framework.FindContainer(&program.Spec.ReplicaSpecs[i].Template, tfKind.container)
		if job.Spec.EnableDynamicWorker {
			variables = []corev1.EnvVar{{Name: configVariable, Value: c.sparse(m.name)}}
		}
		replaceEnv(program, m, container, variables...)
	}
	return nil
}
