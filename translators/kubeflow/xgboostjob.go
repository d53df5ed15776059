package kubeflow

import (
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// CompileXGBoostJob makes a GenericJob of an XGBoostJob.
func CompileXGBoostJob(job *kubeflow.XGBoostJob) (framework.Program, error) {
	program := newProgram(&job.Spec.RunPolicy, &kubeflow.InlineRunPolicy{})
	if program.Foreign {
		return program, nil
	}
	list, err := xgboostKind.members(job.Spec.XGBReplicaSpecs)
	if err != nil {
		return program, err
	}
	switch m := find(list, master); {
	case m == nil:
		return program, errors.New("spec.xgbReplicaSpecs: Master is missing: the job succeeds when it does")
	case m.replicas != 1:
		return program, fmt.Errorf("%s.replicas is %d: a job has exactly one master; use Worker for the others", m.field, m.replicas)
	}
	program.Spec.SuccessRules = []v1beta1.FinishRule{{master: {firstRank}}}
	program.Spec.FailureRules = failureRules(list, "")
	ports := xgboostKind.addReplicas(&program, job.Name, list)
	replaceEnvInAll(&program, list, xgboostEnv(list, ports)...)
	return program, nil
}

// xgboostEnv returns the variables of an XGBoostJob. The last two are for LightGBM, and are set only if there are workers.
func xgboostEnv(list []member, ports map[string]int32) []corev1.EnvVar {
	out := []corev1.EnvVar{
		{Name: "MASTER_PORT", Value: strconv.Itoa(int(ports[master]))},
		{Name: "MASTER_ADDR", Value: framework.HostVariable(master, "0")},
		{Name: "WORLD_SIZE", Value: "$(replicas[*])"},
		{Name: "RANK", Value: "$(index)"},
		unbuffered,
	}
	if find(list, worker) == nil {
		return out
	}
	return append(out, corev1.EnvVar{Name: "WORKER_PORT", Value: strconv.Itoa(int(ports[worker]))},
		corev1.EnvVar{Name: "WORKER_ADDRS", Value: "$(service." + worker + ".hosts)"})
}
