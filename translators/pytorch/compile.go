package pytorch

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// containerName is the container that trains. Without one of this name the first trains.
	containerName = "python"
	// portName and portNumber are the port of the master at which the replicas meet: that of PyTorch's examples and of Kubeflow's operator. A container
	// of the first type that declares a port of this name sets another number.
	portName   = "pytorch"
	portNumber = 23456
)

// Compile makes a GenericJob of a PyTorchTrainingJob.
func Compile(job *v1beta1.PyTorchTrainingJob) (framework.Program, error) {
	if job.Spec.ManagedBy.IsForeign() {
		return framework.Program{Foreign: true}, nil
	}
	program := framework.Program{Spec: v1beta1.GenericJobSpec{
		RunMode:   job.Spec.RunMode.DeepCopy(),
		Scheduler: scheduler(job),
	}, Elastic: job.Spec.Elastic.IsOn()}
	if len(job.Spec.ReplicaSpecs) == 0 {
		return program, fmt.Errorf("spec.replicaSpecs is empty: give at least one replica spec")
	}
	c := &compilation{program: &program, job: job, store: hasStore(job)}
	c.setFinishRules()
	framework.ApplyRunPolicy(&program.Spec, job.Spec.RunPolicy)
	c.together = program.Spec.RestartScope == v1beta1.RestartScopeJob && !job.Spec.Elastic.IsOn()
	c.static = c.together && isStatic(job)
	program.TTLSecondsAfterFinished = job.Spec.RunPolicy.TimeToLive()

	counts := replicaCounts(job)
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		spec := v1beta1.ReplicaSpec{
			Type:          r.Type,
			Replicas:      ptr.To(counts[i]),
			RestartPolicy: framework.RestartPolicy(r.RestartPolicy),
			Template:      *r.Template.DeepCopy(),
		}
		if len(spec.Template.Spec.Containers) == 0 {
			return program, fmt.Errorf("spec.replicaSpecs[%s].template.spec.containers is empty: what shall the replicas run?", r.Type)
		}
		program.WarnOfHostName(fmt.Sprintf("spec.replicaSpecs[%s]", r.Type), &spec.Template)
		framework.SetMainContainer(&spec.Template, trainer(&spec.Template).Name)
		program.Spec.ReplicaSpecs = append(program.Spec.ReplicaSpecs, spec)
	}
	if t := job.Spec.TorchrunConfig; t != nil && t.MinNodes != nil {
		program.Warnings = append(program.Warnings, framework.Warning{Reason: v1beta1.ReasonFieldIgnored, Message: fmt.Sprintf(
			"spec.torchrunConfig.minNodes is %d, but has no effect any more: for a number of replicas that changes set spec.elastic, with enabled, minReplicas and maxReplicas.", *t.MinNodes)})
	}
	if err := c.connect(); err != nil {
		return program, err
	}
	if board := job.Spec.TensorBoardSpec; board != nil {
		master := &job.Spec.ReplicaSpecs[0]
		program.TensorBoard = &framework.TensorBoard{
			Spec: *board.DeepCopy(), Trains: &master.Template, Container: trainer(&master.Template).Name,
		}
	}
	return program, nil
}

// compilation is what the parts of Compile share.
type compilation struct {
	program  *framework.Program
	job      *v1beta1.PyTorchTrainingJob
	store    bool   // the agents meet at a store; see hasStore
	scripts  string // the ConfigMap with the programs of agents and store; "" without a store
	together bool   // a restart replaces all replicas, so all are in the same attempt
	static   bool   // the operator gives the agents their ranks, and a restart replaces all; see isStatic
	port     int32  // the port at which the replicas meet
}

// connect sets all by which the replicas find each other: the port, the Service, the environment and the store.
func (p *compilation) connect() error {
	declares := trainer(&p.program.Spec.ReplicaSpecs[0].Template)
	if p.store && firstOnHost(p.job) { // do not declare the port: each node would take only one such pod, and it is the store that serves
		declares = declares.DeepCopy()
	}
	p.port = framework.EnsurePort(declares, portName, portNumber)
	p.program.Spec.Service = &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: portName, Port: p.port, Protocol: corev1.ProtocolTCP}}}
	if !p.store {
		return p.configure()
	}
	p.program.Data, p.scripts = scripts, framework.ConfigMapName(p.job.Name, scripts)
	if err := p.configure(); err != nil {
		return err
	}
	return p.addStore()
}

// setFinishRules sets what ends the job, and what a restart replaces by default. The job succeeds when its master does. Only an elastic job whose
// minimum is below its maximum can go on without a replica, as long as it has its master. In other jobs WORLD_SIZE, or torchrun's number of nodes, is
// fixed: the other replicas would wait for the lost one for ever. Plain processes cannot take in a new peer, so all start again. torchrun's agents
// can, if torchrun may restart its processes.
func (p *compilation) setFinishRules() {
	spec, job := &p.program.Spec, p.job
	rule := v1beta1.FinishRule{job.Spec.ReplicaSpecs[0].Type: {intstr.FromInt32(0)}}
	spec.SuccessRules = []v1beta1.FinishRule{rule}
	if !job.Spec.TorchrunConfig.IsOn() || !rendezvousRepeats(job) {
		spec.RestartScope = v1beta1.RestartScopeJob
	}
	if job.Spec.Elastic.IsOn() && p.store {
		spec.SuccessRules = anyReplicaRules(job)
	}
	spec.FailureRules = anyReplicaRules(job)
	if canDoWithout(job.Spec.Elastic) {
		spec.FailureRules = []v1beta1.FinishRule{rule}
	}
}

// canDoWithout reports whether an elastic job can go on with fewer replicas than it may have.
func canDoWithout(e *v1beta1.ElasticConfig) bool {
	return e.IsOn() && ptr.Deref(e.MinReplicas, 1) < ptr.Deref(e.MaxReplicas, 1)
}

// anyReplicaRules returns a rule for each type that any one replica of it fulfils. An elastic job with a store succeeds by them. torchrun's agents
// end only when all training processes have ended. A master that is lost just then would come back to a rendezvous that is closed.
func anyReplicaRules(job *v1beta1.PyTorchTrainingJob) (rules []v1beta1.FinishRule) {
	for i := range job.Spec.ReplicaSpecs {
		rules = append(rules, framework.AnyOf(job.Spec.ReplicaSpecs[i].Type))
	}
	return rules
}

// trainer returns the container of a template that trains.
func trainer(t *corev1.PodTemplateSpec) *corev1.Container {
	if c := framework.FindContainer(t, containerName); c != nil {
		return c
	}
	return &t.Spec.Containers[0]
}

// configure sets command and environment of the training containers.
func (p *compilation) configure() error {
	program, job := p.program, p.job
	variables := environment(program, job, p.port)
	for i := range program.Spec.ReplicaSpecs {
		spec := &program.Spec.ReplicaSpecs[i]
		c := trainer(&spec.Template)
		if job.Spec.TorchrunConfig.IsOn() {
			if err := p.torchrun(spec, c); err != nil {
				return fmt.Errorf("spec.%w", err)
			}
			framework.PutEnvFirst(c, framework.RunVariables(p.together)...)
			if spec.Template.Spec.HostNetwork {
				framework.PutEnvFirst(c, localAddress(job.Name, spec.Type))
			}
		}
		for _, v := range variables {
			if framework.SetsEnv(c, v.Name) && !slices.Contains(preferences, v.Name) {
				program.Warnings = append(program.Warnings, framework.Warning{Reason: "OwnEnvironment", Message: fmt.Sprintf(
					"spec.replicaSpecs[%s].template: container %s sets %s itself, so the operator does not: remove it, unless you mean to.",
					spec.Type, c.Name, v.Name)})
			}
		}
		framework.PutEnvFirst(c, variables...)
		if p.store {
			p.useRendezvousStore(c)
		}
	}
	return nil
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
		{Name: "MASTER_ADDR", Value: "$(service." + job.Spec.ReplicaSpecs[0].Type + "[0].host)"},
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

// scheduler returns the job's scheduler. An elastic job can start with its smallest number of replicas.
func scheduler(job *v1beta1.PyTorchTrainingJob) *v1beta1.SchedulePolicy {
	s := job.Spec.Scheduler.DeepCopy()
	if s != nil && s.MinMember == nil && s.Kueue == nil && job.Spec.Elastic.IsOn() {
		s.MinMember = ptr.To(ptr.Deref(job.Spec.Elastic.MinReplicas, 1))
	}
	return s
}
