package pytorch

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// RendezvousType is the replica type of the store at which torchrun's agents meet.
const RendezvousType = "rendezvous"

// The programs that pods run. Python gets them by an environment variable, so the user's image needs only Python and PyTorch.
var (
	//go:embed scripts/agent.py
	agentScript string
	//go:embed scripts/store.py
	storeScript string
)

// The names of these programs as environment variables, and as keys in the ConfigMap.
const (
	agentVariable, agentKey = "GENERICJOB_AGENT", "agent.py"
	storeVariable, storeKey = "GENERICJOB_STORE", "store.py"
)

var scripts = map[string]string{agentKey: agentScript, storeKey: storeScript}

// addStore adds the replica that serves the rendezvous.
func (p *compilation) addStore() error {
	program, job := p.program, p.job
	if n := len(job.Spec.ReplicaSpecs); n == maxTypes {
		return fmt.Errorf("spec.replicaSpecs has %d types, and torchrun's store is one more than a job may have: use fewer, or give torchrunConfig.extraOptions a --rdzv_endpoint of your own", n)
	}
	for i := range job.Spec.ReplicaSpecs {
		if job.Spec.ReplicaSpecs[i].Type == RendezvousType {
			return fmt.Errorf("spec.replicaSpecs[%[1]s]: the type %[1]s is that of torchrun's store: give it another name", RendezvousType)
		}
	}
	if host := v1beta1.HostName(job.Name, RendezvousType, 0); len(host) > maxHostName {
		return fmt.Errorf("metadata.name is too long by %d characters: the host name of torchrun's store, %s, must fit in %d", len(host)-maxHostName, host, maxHostName)
	}
	program.Spec.ReplicaSpecs = append(program.Spec.ReplicaSpecs, v1beta1.ReplicaSpec{
		Type: RendezvousType, Replicas: ptr.To[int32](1), Auxiliary: true, Template: p.storeTemplate(),
	})
	return nil
}

// maxTypes is how many replica types the CRD allows. maxHostName is how many characters DNS allows in a host name.
const maxTypes, maxHostName = 16, 63

// storeTemplate returns the template of the store. It takes from the template of the first type on which nodes the pod may run, as which user and with
// which image. It leaves out devices, volumes and affinity to other pods, so that many nodes can take the store.
func (p *compilation) storeTemplate() corev1.PodTemplateSpec {
	from := p.job.Spec.ReplicaSpecs[0].Template.DeepCopy()
	c := trainer(from)
	framework.SetMainContainer(from, c.Name)
	t := corev1.PodTemplateSpec{ObjectMeta: from.ObjectMeta, Spec: corev1.PodSpec{
		ServiceAccountName: from.Spec.ServiceAccountName, AutomountServiceAccountToken: ptr.To(false),
		ImagePullSecrets: from.Spec.ImagePullSecrets, SecurityContext: from.Spec.SecurityContext,
		NodeSelector: from.Spec.NodeSelector, Tolerations: from.Spec.Tolerations, SchedulerName: from.Spec.SchedulerName,
		PriorityClassName: from.Spec.PriorityClassName, DNSConfig: from.Spec.DNSConfig,
	}}
	if a := from.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		t.Spec.Affinity = &corev1.Affinity{NodeAffinity: a.NodeAffinity}
	}
	t.Spec.Containers = []corev1.Container{{
		Name: c.Name, Image: c.Image, ImagePullPolicy: c.ImagePullPolicy, SecurityContext: unprivileged(c.SecurityContext),
		Command:   []string{"python3", "-c", "$(" + storeVariable + ")", strconv.Itoa(int(p.port))},
		Env:       append([]corev1.EnvVar{framework.DataVariable(storeVariable, p.scripts, storeKey)}, c.Env...),
		EnvFrom:   c.EnvFrom,
		Ports:     []corev1.ContainerPort{{Name: portName, ContainerPort: p.port, Protocol: corev1.ProtocolTCP}},
		Resources: storeResources(p.job, c),
	}}
	return t
}

// unprivileged returns a security context without rights that only training needs, such as access to a network card.
func unprivileged(s *corev1.SecurityContext) *corev1.SecurityContext {
	if s == nil {
		return nil
	}
	out := s.DeepCopy()
	out.Privileged = nil
	if out.Capabilities != nil {
		out.Capabilities.Add = nil
	}
	return out
}

// storeNeeds is what a waiting Python process with PyTorch needs.
var storeNeeds = map[corev1.ResourceName]struct{ request, limit resource.Quantity }{
	corev1.ResourceCPU:    {resource.MustParse("50m"), resource.MustParse("1")},
	corev1.ResourceMemory: {resource.MustParse("256Mi"), resource.MustParse("1Gi")},
}

// storeResources returns the resources that the user sets for the store. Otherwise it asks for a little CPU or memory, if the training container asks
// for that, too. It asks for nothing else, because a queue or quota that does not cover a resource refuses a pod that names it.
func storeResources(job *v1beta1.PyTorchTrainingJob, c *corev1.Container) corev1.ResourceRequirements {
	if own := job.Spec.TorchrunConfig.RendezvousResources; own != nil {
		return *own.DeepCopy()
	}
	var r corev1.ResourceRequirements
	for name, need := range storeNeeds {
		_, requests := c.Resources.Requests[name]
		_, limits := c.Resources.Limits[name]
		if requests || limits {
			put(&r.Requests, name, need.request)
		}
		if limits {
			put(&r.Limits, name, need.limit)
		}
	}
	return r
}

func put(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q
}

// useRendezvousStore puts the program agent.py before torchrun, which makes its agent meet the others at the store.
func (p *compilation) useRendezvousStore(c *corev1.Container) {
	framework.PutEnvFirst(c, framework.DataVariable(agentVariable, p.scripts, agentKey))
	c.Command = slices.Concat([]string{"python3", "-c", "$(" + agentVariable + ")", p.storeAddress()}, c.Command)
}

func (p *compilation) storeAddress() string {
	return fmt.Sprintf("%s:%d", framework.HostVariable(RendezvousType, "0"), p.port)
}
