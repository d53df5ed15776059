package kubeflow

import (
	"errors"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// CompilePaddleJob makes a GenericJob of a PaddleJob. It succeeds with its masters, or without one when every worker has.
func CompilePaddleJob(job *kubeflow.PaddleJob) (framework.Program, error) {
	program := newProgram(&job.Spec.RunPolicy, &kubeflow.InlineRunPolicy{})
	if program.Foreign {
		return program, nil
	}
	list, err := paddleKind.members(job.Spec.PaddleReplicaSpecs)
	if err != nil {
		return program, err
	}
	elastic := elasticPolicyOf(job.Spec.ElasticPolicy)
	if elastic != nil && find(list, worker) == nil {
		return program, errors.New("spec.elasticPolicy: only workers come and go: add Worker to spec.paddleReplicaSpecs, or remove elasticPolicy")
	}
	if find(list, master) != nil {
		program.Spec.SuccessRules = []v1beta1.FinishRule{{master: {}}}
	}
	program.Spec.FailureRules = failureRules(list, "")
	ports := paddleKind.addReplicas(&program, job.Name, list)
	for i, m := range list {
		containers := program.Spec.ReplicaSpecs[i].Template.Spec.Containers
		for j := range containers {
			replaceEnv(&program, m, &containers[j], paddleEnv(job.Name, list, &m, ports)...)
		}
	}
	if elastic == nil {
		return program, nil
	}
	return program, paddleKind.setElastic(&program, job.Name, elastic, list, job.Spec.PaddleReplicaSpecs)
}

// paddleEnv returns the environment that paddle.distributed.launch reads. All meet at the address of the first replica. That replica itself must have its
// address as an IP address.
func paddleEnv(job string, list []member, m *member, ports map[string]int32) []corev1.EnvVar {
	first := list[0].name // master, or without one worker
	port := ":" + strconv.Itoa(int(ports[first]))
	out := []corev1.EnvVar{
		unbuffered,
		{Name: "PADDLE_JOB_ID", Value: job},
		{Name: "PADDLE_NNODES", Value: "$(replicas[*])"},
	}
	address := framework.HostVariable(first, "0") + port
	if m.name != first {
		out = append(out, corev1.EnvVar{Name: "PADDLE_MASTER", Value: address})
	} else {
		out = append(out,
			corev1.EnvVar{Name: "POD_IP_DUMMY", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}},
			corev1.EnvVar{Name: "PADDLE_MASTER_OF_0", Value: "$(POD_IP_DUMMY)" + port},
			corev1.EnvVar{Name: "PADDLE_MASTER_OF_", Value: address},
			corev1.EnvVar{Name: "PADDLE_MASTER", Value: "$(PADDLE_MASTER_OF_$(onRank[0].0))"})
	}
	switch {
	case find(list, master) == nil:
		return out
	case m.name == master:
		return append(out, corev1.EnvVar{Name: "PADDLE_SERVER_NUM", Value: "1"})
	default:
		return append(out, corev1.EnvVar{Name: "PADDLE_TRAINER_NUM", Value: "1"})
	}
}
