package tensorflow

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// containerName is the container that trains. TensorStack's platform finds it by this name, too.
	containerName = "tensorflow"
	// portName and portNumber are the port of TensorFlow's servers. A container that declares a port of this name sets another number.
	portName   = "tensorflow"
	portNumber = 2222
	// maxReplicas is the CRD's limit for the replicas of a type.
	maxReplicas = 10000
)

// Compile makes a GenericJob of a TensorFlowTrainingJob.
func Compile(job *v1beta1.TensorFlowTrainingJob) (framework.Program, error) {
	if job.Spec.ManagedBy.IsForeign() {
		return framework.Program{Foreign: true}, nil
	}
	program := framework.Program{Spec: v1beta1.GenericJobSpec{
		RunMode:   job.Spec.RunMode.DeepCopy(),
		Scheduler: job.Spec.Scheduler.DeepCopy(),
	}}
	master, err := masterOf(job)
	if err != nil {
		return program, err
	}
	setFinishRules(&program.Spec, job, master)
	framework.ApplyRunPolicy(&program.Spec, job.Spec.RunPolicy)
	program.TTLSecondsAfterFinished = job.Spec.RunPolicy.TimeToLive()

	c, service := &cluster{job: job.Name}, &v1beta1.ServiceOption{}
	for i := range job.Spec.ReplicaSpecs {
		if err := checkReplicaSpec(job.Spec.ReplicaSpecs[:i], &job.Spec.ReplicaSpecs[i]); err != nil {
			return program, err
		}
		spec := replicaSpec(&job.Spec.ReplicaSpecs[i])
		program.WarnOfHostName(fmt.Sprintf("spec.replicaSpecs[%s]", spec.Type), &spec.Template)
		port := framework.EnsurePort(framework.FindContainer(&spec.Template, containerName), portName, portNumber)
		framework.AddServicePort(service, portName, port)
		c.add(spec, port)
		program.Spec.ReplicaSpecs = append(program.Spec.ReplicaSpecs, spec)
	}
	program.Spec.Service = service
	if err := setTFConfig(&program, c); err != nil {
		return program, err
	}
	if board := job.Spec.TensorBoardSpec; board != nil {
		i := slices.IndexFunc(job.Spec.ReplicaSpecs, isOf(master))
		program.TensorBoard = &framework.TensorBoard{
			Spec: *board.DeepCopy(), Trains: &job.Spec.ReplicaSpecs[i].Template, Container: containerName,
		}
	}
	return program, nil
}

// setFinishRules sets what ends the job, and what a restart replaces by default. The job succeeds when its master does. With parameter servers, workers may
// come and go, and only the failure of the master fails the job. Without them the replicas train in step: if one is lost, the others wait for it for
// ever.
func setFinishRules(spec *v1beta1.GenericJobSpec, job *v1beta1.TensorFlowTrainingJob, master v1beta1.TensorFlowReplicaType) {
	rule := v1beta1.FinishRule{string(master): {intstr.FromInt32(0)}}
	spec.SuccessRules = []v1beta1.FinishRule{rule}
	if slices.ContainsFunc(job.Spec.ReplicaSpecs, isOf(v1beta1.TensorFlowParameterServer)) {
		spec.FailureRules = []v1beta1.FinishRule{rule}
		return
	}
	spec.RestartScope = v1beta1.RestartScopeJob
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Type != v1beta1.TensorFlowEvaluator { // an evaluator only reads checkpoints: nobody waits for it
			spec.FailureRules = append(spec.FailureRules, framework.AnyOf(string(r.Type)))
		}
	}
}

// isOf reports whether a replica spec is of a type.
func isOf(t v1beta1.TensorFlowReplicaType) func(v1beta1.TensorFlowReplicaSpec) bool {
	return func(r v1beta1.TensorFlowReplicaSpec) bool { return r.Type == t }
}

// masterOf returns the type whose replica 0 decides the job.
func masterOf(job *v1beta1.TensorFlowTrainingJob) (v1beta1.TensorFlowReplicaType, error) {
	for _, t := range []v1beta1.TensorFlowReplicaType{v1beta1.TensorFlowChief, v1beta1.TensorFlowWorker} {
		if slices.ContainsFunc(job.Spec.ReplicaSpecs, isOf(t)) {
			return t, nil
		}
	}
	return "", fmt.Errorf("spec.replicaSpecs: none is of type chief or worker: add one; the job succeeds when the chief, or else worker 0, does")
}

// checkReplicaSpec returns what is wrong with a replica spec. The CRD refuses most of it already.
func checkReplicaSpec(before []v1beta1.TensorFlowReplicaSpec, r *v1beta1.TensorFlowReplicaSpec) error {
	field, n := fmt.Sprintf("spec.replicaSpecs[%s]", r.Type), ptr.Deref(r.Replicas, 1)
	switch {
	case slices.ContainsFunc(before, func(b v1beta1.TensorFlowReplicaSpec) bool { return b.Type == r.Type }):
		return fmt.Errorf("%s is listed twice: give each type once, with the number of its replicas", field)
	case n < 1 || n > maxReplicas:
		return fmt.Errorf("%s.replicas is %d: want a number from 1 to %d", field, n, maxReplicas)
	case n > 1 && r.Type == v1beta1.TensorFlowChief:
		return fmt.Errorf("%s.replicas is %d: a job has at most one chief; use type worker for the others", field, n)
	}
	return framework.RequireContainer(field, &r.Template, containerName)
}

// replicaSpec returns the replica spec of the GenericJob, with all defaults.
func replicaSpec(r *v1beta1.TensorFlowReplicaSpec) v1beta1.ReplicaSpec {
	spec := v1beta1.ReplicaSpec{
		Type:          string(r.Type),
		Replicas:      ptr.To(ptr.Deref(r.Replicas, 1)),
		RestartPolicy: framework.RestartPolicy(cmp.Or(r.RestartPolicy, v1beta1.RestartNever)),
		Template:      *r.Template.DeepCopy(),
	}
	framework.SetMainContainer(&spec.Template, containerName)
	return spec
}

// setTFConfig sets TF_CONFIG in all replicas. A job of one replica gets none: TensorFlow then trains by itself.
func setTFConfig(program *framework.Program, c *cluster) error {
	if c.total == 1 {
		return nil
	}
	if problem := c.tooLong(); problem != "" {
		return fmt.Errorf("spec.replicaSpecs: %s", problem)
	}
	program.Data = c.data()
	variables := c.environment(program.Data)
	for i := range program.Spec.ReplicaSpecs {
		spec := &program.Spec.ReplicaSpecs[i]
		container := framework.FindContainer(&spec.Template, containerName)
		if framework.SetsEnv(container, configVariable) {
			program.Warnings = append(program.Warnings, framework.Warning{Reason: "OwnTFConfig", Message: fmt.Sprintf(
				"spec.replicaSpecs[%s].template: container %s sets %s itself, so the operator does not: remove it, unless you mean to describe the cluster yourself.",
				spec.Type, containerName, configVariable)})
			continue
		}
		if program.Data != nil && framework.SetsEnv(container, clusterVariable) {
			return fmt.Errorf("spec.replicaSpecs[%s].template: container %s sets %s, which %s needs in a job of more than %d hosts: rename it",
				spec.Type, containerName, clusterVariable, configVariable, inlineHosts)
		}
		framework.PutEnvFirst(container, variables...)
	}
	return nil
}
