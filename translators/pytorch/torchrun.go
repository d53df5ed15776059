package pytorch

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// option is an option of torchrun that the operator sets.
type option struct {
	name, value string
	field       string // the field of the spec, if the user has set it there
}

// setTorchrun makes torchrun the command of a training container. Errors begin with a field of the spec.
func (p *compilation) setTorchrun(spec *v1beta1.ReplicaSpec, c *corev1.Container) error {
	program, job := p.program, p.job
	where := fmt.Sprintf("replicaSpecs[%s].template: container %s", spec.Type, c.Name)
	switch {
	case len(c.Args) == 0 && len(c.Command) > 0:
		return fmt.Errorf("%s has no args, and its command %q is ignored, because torchrun takes its place: move the script to args, as in args: [train.py, --epochs, \"3\"]", where, c.Command)
	case len(c.Args) == 0:
		return fmt.Errorf("%s has no args: torchrun starts the script that args begin with, as in args: [train.py, --epochs, \"3\"]", where)
	}
	list, err := p.options(spec, c)
	if err != nil {
		return err
	}
	conf, extra := takeOutConf(job.Spec.TorchrunConfig.ExtraOptions)
	own := optionsIn(extra)
	command := []string{"torchrun"}
	for _, o := range list {
		theirs, ok := own[o.name]
		switch {
		case !ok:
			command = append(command, "--"+o.name+"="+o.value)
		case o.field != "":
			return fmt.Errorf("torchrunConfig.extraOptions: %s says what spec.%s says, too: remove one of them", theirs, o.field)
		case spec.Type == job.Spec.ReplicaSpecs[0].Type:
			program.Warnings = append(program.Warnings, framework.Warning{Reason: "OwnTorchrunOption", Message: fmt.Sprintf(
				"spec.torchrunConfig.extraOptions: %s takes the place of the operator's own --%s=%s.", theirs, o.name, o.value)})
		}
	}
	if len(c.Command) > 0 {
		program.Warnings = append(program.Warnings, framework.Warning{Reason: "CommandReplaced", Message: fmt.Sprintf(
			"spec.%s: its command %q is replaced by torchrun, because spec.torchrunConfig is enabled; its args stay.", where, c.Command)})
	}
	if conf, ok := p.mergedConf(conf, c); ok {
		command = append(command, "--rdzv_conf="+conf)
	}
	c.Command = append(command, extra...)
	return nil
}

// c10d is the backend in which PyTorch itself serves the rendezvous and chooses ranks. static is the backend in which ranks are given.
const c10d, static = "c10d", "static"

// elasticRestarts is the default of torchrun's --max_restarts in an elastic job. Each loss of a replica costs the others one restart.
const elasticRestarts = 10

// options returns the options of torchrun for the replicas of a type.
func (p *compilation) options(spec *v1beta1.ReplicaSpec, c *corev1.Container) ([]option, error) {
	job, t := p.job, p.job.Spec.TorchrunConfig
	nodes := option{name: "nnodes"}
	if e := job.Spec.Elastic; e.IsOn() {
		nodes.value, nodes.field = fmt.Sprintf("%d:%d", ptr.Deref(e.MinReplicas, 1), ptr.Deref(e.MaxReplicas, 1)), "elastic"
	} else {
		total := int32(0)
		for _, n := range replicaCounts(job) {
			total += n
		}
		nodes.value = strconv.Itoa(int(total))
	}
	list := []option{nodes}
	if t.ProcPerNode != "" {
		value, err := processes(t.ProcPerNode, spec.Type, c)
		if err != nil {
			return nil, err
		}
		list = append(list, option{"nproc_per_node", value, "torchrunConfig.procPerNode"})
	}
	rendezvous, err := p.rendezvousOptions()
	if err != nil {
		return nil, err
	}
	list = append(list, rendezvous...)
	list = append(list, option{name: "rdzv_id", value: framework.RendezvousID(p.replacesAll)})
	if t.MaxRestarts != nil {
		list = append(list, option{"max_restarts", strconv.Itoa(int(*t.MaxRestarts)), "torchrunConfig.maxRestarts"})
	} else if job.Spec.Elastic.IsOn() {
		list = append(list, option{name: "max_restarts", value: strconv.Itoa(elasticRestarts)})
	}
	return append(list, option{name: "role", value: "$(type)"}), nil
}

// rendezvousOptions returns the options by which torchrun's agents find each other.
func (p *compilation) rendezvousOptions() (list []option, err error) {
	t := p.job.Spec.TorchrunConfig
	backend := option{name: "rdzv_backend", value: c10d}
	switch {
	case t.RdzvBackend != "":
		backend.value, backend.field = t.RdzvBackend, "torchrunConfig.rdzvBackend"
	case p.givesRanks:
		backend.value = static
		list = append(list, option{name: "node_rank", value: "$(index)"})
	}
	list = append(list, backend)
	switch {
	case p.store:
		return append(list, option{name: "rdzv_endpoint", value: p.storeAddress()}), nil
	case t.RdzvBackend == "" || t.RdzvBackend == c10d:
		// Replica 0 serves. It knows that by its rank, or else because the host name is its own.
		return append(list, option{name: "rdzv_endpoint", value: "$(MASTER_ADDR):$(MASTER_PORT)"}), nil
	case !setsOption(t, "rdzv_endpoint"):
		return nil, fmt.Errorf("torchrunConfig.rdzvBackend is %s, which the operator does not run: add its address to extraOptions, as --rdzv_endpoint=<host>:<port>, or use c10d", backend.value)
	}
	return list, nil
}

// processes returns the value of --nproc_per_node. For gpu it is the container's limit of GPUs. torchrun itself would count all GPUs that it sees,
// which may be more.
func processes(asked, replicaType string, c *corev1.Container) (string, error) {
	if asked != "gpu" {
		return asked, nil
	}
	total := int64(0)
	for name, quantity := range c.Resources.Limits {
		if strings.HasSuffix(string(name), ".com/gpu") {
			total += quantity.Value()
		}
	}
	if total == 0 {
		return "", fmt.Errorf("torchrunConfig.procPerNode is gpu, but container %s of replicaSpecs[%s] has no limit of nvidia.com/gpu, amd.com/gpu or another <domain>.com/gpu: set one, or set procPerNode to a number", c.Name, replicaType)
	}
	return strconv.FormatInt(total, 10), nil
}
