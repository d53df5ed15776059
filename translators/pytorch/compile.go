package pytorch

import (
	"fmt"

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
	// The order matters. The finish rules come with a default for the restart scope, and the user's run policy may replace it. Agents meet by the result.
	c.setFinishRules()
	framework.ApplyRunPolicy(&program.Spec, job.Spec.RunPolicy)
	c.replacesAll = program.Spec.RestartScope == v1beta1.RestartScopeJob && !job.Spec.Elastic.IsOn()
	c.givesRanks = c.replacesAll && ranksCanBeGiven(job)
	program.TTLSecondsAfterFinished = job.Spec.RunPolicy.TimeToLive()
	if err := c.addReplicas(); err != nil {
		return program, err
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
	program     *framework.Program
	job         *v1beta1.PyTorchTrainingJob
	store       bool   // the agents meet at a store; see hasStore
	scripts     string // the ConfigMap with the programs of agents and store; "" without a store
	replacesAll bool   // a restart replaces all replicas, so all are in the same attempt
	givesRanks  bool   // the operator gives the agents their ranks; see ranksCanBeGiven
	port        int32  // the port at which the replicas meet
}

// addReplicas adds the replicas of each type, as the user wrote them.
func (p *compilation) addReplicas() error {
	counts := replicaCounts(p.job)
	for i := range p.job.Spec.ReplicaSpecs {
		r := &p.job.Spec.ReplicaSpecs[i]
		spec := v1beta1.ReplicaSpec{
			Type:          r.Type,
			Replicas:      ptr.To(counts[i]),
			RestartPolicy: framework.RestartPolicy(r.RestartPolicy),
			Template:      *r.Template.DeepCopy(),
		}
		if len(spec.Template.Spec.Containers) == 0 {
			return fmt.Errorf("spec.replicaSpecs[%s].template.spec.containers is empty: what shall the replicas run?", r.Type)
		}
		p.program.WarnOfHostName(fmt.Sprintf("spec.replicaSpecs[%s]", r.Type), &spec.Template)
		framework.SetMainContainer(&spec.Template, trainer(&spec.Template).Name)
		p.program.Spec.ReplicaSpecs = append(p.program.Spec.ReplicaSpecs, spec)
	}
	return nil
}

// connect sets all by which the replicas find each other: the port, the Service, the environment and the store.
func (p *compilation) connect() error {
	master := trainer(&p.program.Spec.ReplicaSpecs[0].Template)
	if p.store && firstOnHost(p.job) { // declare the port in a copy alone: each node would take only one such pod, and it is the store that serves
		master = master.DeepCopy()
	}
	p.port = framework.EnsurePort(master, portName, portNumber)
	p.program.Spec.Service = &v1beta1.ServiceOption{}
	framework.AddServicePort(p.program.Spec.Service, portName, p.port)
	if !p.store {
		return p.setTrainers()
	}
	p.program.Data, p.scripts = scripts, framework.ConfigMapName(p.job.Name, scripts)
	if err := p.setTrainers(); err != nil {
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

// scheduler returns the job's scheduler. An elastic job can start with its smallest number of replicas.
func scheduler(job *v1beta1.PyTorchTrainingJob) *v1beta1.SchedulePolicy {
	s := job.Spec.Scheduler.DeepCopy()
	if s != nil && s.MinMember == nil && s.Kueue == nil && job.Spec.Elastic.IsOn() {
		s.MinMember = ptr.To(ptr.Deref(job.Spec.Elastic.MinReplicas, 1))
	}
	return s
}
