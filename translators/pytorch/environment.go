package pytorch

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// setTrainers sets command and environment of the containers that train.
func (p *compilation) setTrainers() error {
	variables := environment(p.program, p.job, p.port)
	for i := range p.program.Spec.ReplicaSpecs {
		spec := &p.program.Spec.ReplicaSpecs[i]
		c := trainer(&spec.Template)
		if p.job.Spec.TorchrunConfig.IsOn() {
			if err := p.setTorchrun(spec, c); err != nil {
				return fmt.Errorf("spec.%w", err)
			}
			framework.PutEnvFirst(c, framework.RendezvousIDVariables(p.replacesAll)...)
			if spec.Template.Spec.HostNetwork {
				framework.PutEnvFirst(c, localAddress(p.job.Name, spec.Type))
			}
		}
		p.warnOfOwnEnvironment(spec.Type, c, variables)
		framework.PutEnvFirst(c, variables...)
		if p.store {
			p.useRendezvousStore(c)
		}
	}
	return nil
}

// warnOfOwnEnvironment adds a warning for each variable of the operator's that the user sets.
func (p *compilation) warnOfOwnEnvironment(replicaType string, c *corev1.Container, variables []corev1.EnvVar) {
	for _, v := range variables {
		if framework.SetsEnv(c, v.Name) && !slices.Contains(preferences, v.Name) {
			p.program.Warnings = append(p.program.Warnings, framework.Warning{Reason: "OwnEnvironment", Message: fmt.Sprintf(
				"spec.replicaSpecs[%s].template: container %s sets %s itself, so the operator does not: remove it, unless you mean to.",
				replicaType, c.Name, v.Name)})
		}
	}
}

// localAddress returns torchrun's --local_addr, by which the others find the processes of a replica: its short host name. By itself torchrun takes
// the host's name, on the network of a node that of the node, which is in no DNS. The node's address would not do: c10d knows an agent by
// address and process ID. In two pods of one node both can be the same, and c10d would wait for ever.
func localAddress(job, replicaType string) corev1.EnvVar {
	return corev1.EnvVar{Name: "PET_LOCAL_ADDR", Value: job + "-" + replicaType + "-$(rank)"}
}

// unsharedStore makes torchrun open a new store for each round of an elastic job. PyTorch 2.4 and newer share the store of the first round. Replicas
// that come later never find it: they wait until all give up.
const unsharedStore = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"

// preferences are variables that a user may set to other values without a warning.
var preferences = []string{"PYTHONUNBUFFERED", unsharedStore}

// environment returns the variables of every training container.
func environment(program *framework.Program, job *v1beta1.PyTorchTrainingJob, port int32) []corev1.EnvVar {
	variables := []corev1.EnvVar{
		{Name: "MASTER_ADDR", Value: framework.HostVariable(job.Spec.ReplicaSpecs[0].Type, "0")},
		{Name: "MASTER_PORT", Value: strconv.Itoa(int(port))},
		{Name: "PYTHONUNBUFFERED", Value: "1"},
	}
	switch {
	case job.Spec.Elastic.IsOn():
		return append(variables, corev1.EnvVar{Name: unsharedStore, Value: "1"})
	case job.Spec.TorchrunConfig.IsOn():
		return variables
	}
	worldSize := int32(0)
	for i := range program.Spec.ReplicaSpecs {
		worldSize += *program.Spec.ReplicaSpecs[i].Replicas
	}
	return append(variables,
		corev1.EnvVar{Name: "RANK", Value: "$(index)"}, corev1.EnvVar{Name: "WORLD_SIZE", Value: strconv.Itoa(int(worldSize))})
}
