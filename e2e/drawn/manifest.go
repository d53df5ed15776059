package drawn

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Image has sh, bash, Python and torchrun: e2e/images/pytorch.
const Image = "localhost/genericjob-pytorch:dev"

// mainContainer is the one that trains. That of a PyTorchTrainingJob has this name.
const mainContainer = "pytorch"

// stepLine is what a step says.
const stepLine = `step (?P<step>[0-9]+) of`

// Manifest is the object of a job.
func (j *Job) Manifest(namespace string) client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: j.Name}
	if j.Torchrun != "" {
		return j.torchrunManifest(meta)
	}
	s := v1beta1.GenericJobSpec{
		RestartScope: v1beta1.RestartScopeReplica, RestartStrategy: v1beta1.RestartRecreate, StopTogether: j.Together,
		BackoffLimit: j.Backoff, CleanUpPolicy: j.CleanUp, SuccessRules: ruleOf(j.SuccessOf), FailureRules: ruleOf(j.FailureOf),
	}
	if j.WholeJob {
		s.RestartScope = v1beta1.RestartScopeJob
	}
	if j.InPlace {
		s.RestartStrategy = v1beta1.RestartInPlace
	}
	if j.Service {
		s.Service = &v1beta1.ServiceOption{}
	}
	switch j.Signs {
	case Progress:
		s.Progress = &v1beta1.ProgressFormat{Stdout: stepLine}
	case Heartbeat:
		s.Heartbeat = &v1beta1.Heartbeat{Stdout: stepLine, StartupSeconds: ptr.To[int32](600), SteadySeconds: ptr.To(SteadySeconds)}
	}
	if len(j.Rules) > 0 || j.Rounds > 0 {
		s.FailurePolicy = &v1beta1.FailurePolicy{Rules: j.Rules}
		if j.Rounds > 0 {
			s.FailurePolicy.NoProgress = &v1beta1.NoProgress{Rounds: j.Rounds}
		}
	}
	for i := range j.Types {
		s.ReplicaSpecs = append(s.ReplicaSpecs, j.replicaSpec(&j.Types[i]))
	}
	return &v1beta1.GenericJob{TypeMeta: typeOf(v1beta1.KindGenericJob), ObjectMeta: meta, Spec: s}
}

func typeOf(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1beta1.GroupVersion.String(), Kind: kind}
}

// ruleOf names all ranks of a type.
func ruleOf(replicaType string) []v1beta1.FinishRule {
	if replicaType == "" {
		return nil
	}
	return []v1beta1.FinishRule{{replicaType: {}}}
}

func (j *Job) replicaSpec(t *Type) v1beta1.ReplicaSpec {
	r := v1beta1.ReplicaSpec{
		Type: t.Name, Replicas: ptr.To(int32(t.Replicas)), RestartPolicy: t.Policy, Auxiliary: t.Auxiliary,
		Template: corev1.PodTemplateSpec{Spec: j.pod(t)},
	}
	if t.AfterOthers {
		r.StartPolicy = v1beta1.StartAfterOthers
	}
	if j.Sidecar == Plain {
		r.Template.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": mainContainer}
	}
	return r
}

// torchrunManifest is a job of torchrun: of two nodes, or of two to three.
func (j *Job) torchrunManifest(meta metav1.ObjectMeta) client.Object {
	s := v1beta1.PyTorchTrainingJobSpec{
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true},
		RunPolicy:      &v1beta1.RunPolicy{BackoffLimit: j.Backoff},
	}
	if j.InPlace {
		s.RunPolicy.RestartStrategy = v1beta1.RestartInPlace
	}
	n := int32(j.Types[0].Replicas)
	r := v1beta1.PyTorchReplicaSpec{Type: j.Types[0].Name, Replicas: ptr.To(n)}
	if j.Torchrun == Elastic {
		r.Replicas = ptr.To[int32](1)
		s.Elastic = &v1beta1.ElasticConfig{Enabled: true, MinReplicas: ptr.To(n), MaxReplicas: ptr.To(n + 1), ExpectedReplicas: ptr.To(n)}
	}
	pod := j.pod(&j.Types[0])
	pod.Containers[0].Command, pod.Containers[0].Args = nil, []string{Folder + "/code.py"}
	r.Template = corev1.PodTemplateSpec{Spec: pod}
	s.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{r}
	return &v1beta1.PyTorchTrainingJob{TypeMeta: typeOf(v1beta1.KindPyTorchTrainingJob), ObjectMeta: meta, Spec: s}
}

// pod is what the pods of a type are like.
func (j *Job) pod(t *Type) corev1.PodSpec {
	command, args := j.command()
	c := j.container(mainContainer, command, args)
	c.Env = j.environment(t)
	p := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](30),
		SecurityContext:               j.podSecurity(),
		Containers:                    []corev1.Container{c},
		Volumes: []corev1.Volume{{Name: Claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: Claim},
		}}},
	}
	if j.Fault.Kind == Kill { // else process 1 of a container cannot be killed from within
		p.ShareProcessNamespace = ptr.To(true)
	}
	if j.Init {
		p.InitContainers = append(p.InitContainers, j.container("prepare", []string{"sh", "-c", "echo prepared"}, nil))
	}
	switch j.Sidecar {
	case Native:
		side := j.container("side", []string{"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"}, nil)
		side.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
		p.InitContainers = append(p.InitContainers, side)
	case Plain: // it keeps its replica from ending before it does
		p.Containers = append(p.Containers, j.container("side", []string{"sh", "-c", "trap 'exit 0' TERM; n=0; while [ $n -lt 4 ]; do n=$((n + 1)); sleep 1; done"}, nil))
	}
	return p
}

func (j *Job) container(name string, command, args []string) corev1.Container {
	c := corev1.Container{
		Name: name, Image: Image, ImagePullPolicy: corev1.PullNever, Command: command, Args: args,
		SecurityContext: j.containerSecurity(), VolumeMounts: []corev1.VolumeMount{{Name: Claim, MountPath: Folder}},
	}
	switch j.Space {
	case Quota, Tight:
		c.Resources.Requests, c.Resources.Limits = resources("20m", "32Mi"), resources("1", "256Mi")
	case "":
		c.Resources.Requests = resources("20m", "32Mi")
	}
	return c
}

func resources(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func (j *Job) podSecurity() *corev1.PodSecurityContext {
	number := func(n int64) *corev1.PodSecurityContext {
		return &corev1.PodSecurityContext{RunAsUser: &n, RunAsGroup: &n, RunAsNonRoot: ptr.To(n > 0)}
	}
	switch j.User {
	case Restricted:
		s := number(1000)
		s.FSGroup = ptr.To[int64](2000)
		s.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
		return s
	case Root:
		return number(0)
	case Numbered:
		return number(65532)
	default:
		return nil
	}
}

func (j *Job) containerSecurity() *corev1.SecurityContext {
	if j.User != Restricted {
		return nil
	}
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
