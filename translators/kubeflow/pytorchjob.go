package kubeflow

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// CompilePyTorchJob makes a GenericJob of a PyTorchJob.
func CompilePyTorchJob(job *kubeflow.PyTorchJob) (framework.Program, error) {
	program := newProgram(&job.Spec.RunPolicy, &job.Spec.InlineRunPolicy)
	if program.Foreign {
		return program, nil
	}
	list, err := pytorchKind.members(job.Spec.PyTorchReplicaSpecs)
	if err != nil {
		return program, err
	}
	elastic := job.Spec.ElasticPolicy
	switch m, workers := find(list, master), find(list, worker); {
	case m != nil && m.replicas != 1:
		return program, fmt.Errorf("%s.replicas is %d: a job has exactly one master; use Worker for the others", m.field, m.replicas)
	case elastic != nil && workers == nil:
		return program, fmt.Errorf("spec.elasticPolicy: only workers come and go: add Worker to spec.pytorchReplicaSpecs, or remove elasticPolicy")
	case m != nil:
		program.Spec.SuccessRules = []v1beta1.FinishRule{{master: {firstRank}}}
	case elastic != nil:
		// torchrun's agents end together, so the success of one is enough. Replicas that were lost before do not count.
		program.Spec.SuccessRules = []v1beta1.FinishRule{{worker: {anyRank}}}
	}
	program.Spec.FailureRules = failureRules(list, "")
	ports := pytorchKind.addReplicas(&program, job.Name, list)
	if elastic != nil {
		if err := pytorchKind.setElastic(&program, job.Name, elastic, list, job.Spec.PyTorchReplicaSpecs); err != nil {
			return program, err
		}
	}
	replaceEnvInAll(&program, list, pytorchEnv(job, list, ports)...)
	return program, nil
}

// pytorchEnv returns the variables of every container, in this order.
func pytorchEnv(job *kubeflow.PyTorchJob, list []member, ports map[string]int32) []corev1.EnvVar {
	out := []corev1.EnvVar{unbuffered}
	add := func(value string, names ...string) {
		for _, name := range names {
			out = append(out, corev1.EnvVar{Name: name, Value: value})
		}
	}
	elastic := job.Spec.ElasticPolicy
	processes := job.Spec.NprocPerNode
	if processes == nil && (elastic == nil || elastic.NProcPerNode == nil) {
		processes = ptr.To("auto")
	}
	if find(list, master) != nil {
		add(strconv.Itoa(int(ports[master])), "MASTER_PORT", "PET_MASTER_PORT")
		add(framework.HostVariable(master, "0"), "MASTER_ADDR", "PET_MASTER_ADDR")
		add(worldSize(ptr.Deref(processes, "")), "WORLD_SIZE")
		add("$(index)", "RANK", "PET_NODE_RANK") // of the replica, not of the process: so it has always been
	}
	if processes != nil {
		add(*processes, "PET_NPROC_PER_NODE")
	}
	if elastic == nil {
		add("$(replicas[*])", "PET_NNODES")
		return out
	}
	return append(out, rendezvousEnv(elastic, list, ports)...)
}

// worldSize returns the number of processes, if the number in each replica is known; else the number of replicas. It is written as a variable. So pods
// that are created after an elastic job was scaled get the new number, and the template stays the same.
func worldSize(processes string) string {
	if n, err := strconv.Atoi(processes); err == nil && n > 1 {
		return "$(replicas[*]*" + strconv.Itoa(n) + ")"
	}
	return "$(replicas[*])"
}

// rendezvousEnv returns the variables by which torchrun's agents meet in an elastic job.
func rendezvousEnv(e *kubeflow.ElasticPolicy, list []member, ports map[string]int32) []corev1.EnvVar {
	var out []corev1.EnvVar
	add := func(name, value string) { out = append(out, corev1.EnvVar{Name: name, Value: value}) }
	host := framework.HostVariable(worker, "0")
	if e.RDZVHost != nil {
		host = keepVariables(*e.RDZVHost)
	}
	least, most := workerLimits(e, list)
	add("PET_RDZV_ENDPOINT", fmt.Sprintf("%s:%d", host, ptr.Deref(e.RDZVPort, ports[worker])))
	add("PET_RDZV_BACKEND", ptr.Deref(e.RDZVBackend, "c10d"))
	add("PET_NNODES", fmt.Sprintf("%d:%d", least, most))
	if e.MaxRestarts != nil {
		add("PET_MAX_RESTARTS", strconv.Itoa(int(*e.MaxRestarts)))
	}
	if e.NProcPerNode != nil {
		add("PET_NPROC_PER_NODE", strconv.Itoa(int(*e.NProcPerNode)))
	}
	if e.RDZVID != nil {
		add("PET_RDZV_ID", keepVariables(*e.RDZVID))
	} else {
		out = append(out, framework.RendezvousIDVariables(false)...)
		add("PET_RDZV_ID", framework.RendezvousID(false))
	}
	var conf []string
	for _, c := range e.RDZVConf {
		conf = append(conf, c.Key+"="+c.Value)
	}
	add("PET_RDZV_CONF", framework.MergeRendezvousConf(keepVariables(strings.Join(conf, ",")), framework.RendezvousConf(true)...))
	if ptr.Deref(e.Standalone, false) {
		add("PET_STANDALONE", "")
	}
	return out
}
