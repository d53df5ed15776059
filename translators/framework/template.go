package framework

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// defaultBackoffLimit is the number of restarts that the replicas of a training job share, unless it says otherwise.
const defaultBackoffLimit = 3

// ApplyRunPolicy sets the fields of a GenericJob that a RunPolicy decides; p may be nil. If the spec has a restartScope, cleanUpPolicy or
// failurePolicy already, that is the default of the framework, and stays unless the RunPolicy has its own.
func ApplyRunPolicy(to *v1beta1.GenericJobSpec, p *v1beta1.RunPolicy) {
	if p = p.DeepCopy(); p == nil {
		p = &v1beta1.RunPolicy{}
	}
	to.ActiveDeadlineSeconds = p.ActiveDeadlineSeconds
	to.CleanUpPolicy = cmp.Or(p.CleanUpPolicy, to.CleanUpPolicy, v1beta1.CleanUpUnfinished) // pods that still run would keep their GPUs
	to.BackoffLimit = ptr.To(ptr.Deref(p.BackoffLimit, defaultBackoffLimit))
	to.FailurePolicy = cmp.Or(p.FailurePolicy, to.FailurePolicy)
	to.RestartScope = cmp.Or(p.RestartScope, to.RestartScope)
	to.RestartStrategy, to.Heartbeat, to.StopTogether = p.RestartStrategy, p.Heartbeat, p.StopTogether
	to.NodeLost, to.AvoidNodes, to.Progress = p.NodeLost, p.AvoidNodes, p.Progress
}

// RestartPolicy returns the restart policy of replicas of a GenericJob for that of a training job; default OnFailure. It has no limit for each
// replica: backoffLimit, which all replicas share, bounds the restarts.
func RestartPolicy(p v1beta1.RestartPolicyType) *v1beta1.RestartPolicy {
	if p == "" {
		p = v1beta1.RestartOnFailure
	}
	return &v1beta1.RestartPolicy{Policy: p}
}

// AnyOf returns a finish rule that any one rank of a type fulfils. As a failure rule it is for replicas that cannot train without each other.
func AnyOf(replicaType string) v1beta1.FinishRule {
	return v1beta1.FinishRule{replicaType: {intstr.FromString(v1beta1.AnyRank)}}
}

// SetMainContainer names the container of a template that trains, unless the user has named one.
func SetMainContainer(t *corev1.PodTemplateSpec, name string) {
	if _, ok := t.Annotations[v1beta1.AnnotationDefaultContainer]; ok {
		return
	}
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	t.Annotations[v1beta1.AnnotationDefaultContainer] = name
}

// WarnOfHostName adds a warning if a template sets hostname or subdomain: the operator replaces both, because replicas find each other by them. Field
// is the field of the job that has the template.
func (p *Program) WarnOfHostName(field string, t *corev1.PodTemplateSpec) {
	for _, own := range []struct{ name, value, ours string }{
		{"hostname", t.Spec.Hostname, "<job>-<type>-<rank>"}, {"subdomain", t.Spec.Subdomain, "the job's name"},
	} {
		if own.value != "" {
			p.Warnings = append(p.Warnings, Warning{Reason: v1beta1.ReasonHostNameReplaced, Message: fmt.Sprintf(
				"%s.template.spec.%s is %q, which has no effect: replicas find each other by the operator's, %s. Remove it.", field, own.name, own.value, own.ours)})
		}
	}
}

// FindContainer returns the container of a name; nil if there is none.
func FindContainer(t *corev1.PodTemplateSpec, name string) *corev1.Container {
	i := slices.IndexFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &t.Spec.Containers[i]
}

// RequireContainer returns an error for the user if a template has no container of a name. Field is the field of the job that has the template.
func RequireContainer(field string, t *corev1.PodTemplateSpec, name string) error {
	if FindContainer(t, name) != nil {
		return nil
	}
	var names []string
	for _, c := range t.Spec.Containers {
		names = append(names, c.Name)
	}
	return fmt.Errorf("%s.template.spec.containers must have one named %q, the one that trains, but has [%s]: rename the one that trains",
		field, name, strings.Join(names, ", "))
}

// SetsEnv reports whether a container has one of these environment variables.
func SetsEnv(c *corev1.Container, names ...string) bool {
	return slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return slices.Contains(names, e.Name) })
}

// PutEnvFirst puts variables before those of the user, so that these can refer to them. It leaves out variables that the user sets.
func PutEnvFirst(c *corev1.Container, variables ...corev1.EnvVar) {
	var env []corev1.EnvVar
	for _, v := range variables { // a new list: the caller may give the same variables to the next container
		if !SetsEnv(c, v.Name) {
			env = append(env, v)
		}
	}
	c.Env = append(env, c.Env...)
}

// DataVariable returns an environment variable whose value is an entry of a ConfigMap; see ConfigMapName.
func DataVariable(name, configMap, key string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, Key: key,
	}}}
}

// EnsurePort makes sure that a container declares a port, and returns its number: what the user declares under the name, else the default.
func EnsurePort(c *corev1.Container, name string, number int32) int32 {
	for _, p := range c.Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	declared := func(p corev1.ContainerPort) bool {
		return p.ContainerPort == number && (p.Protocol == corev1.ProtocolTCP || p.Protocol == "")
	}
	if !slices.ContainsFunc(c.Ports, declared) {
		c.Ports = append(c.Ports, corev1.ContainerPort{Name: name, ContainerPort: number, Protocol: corev1.ProtocolTCP})
	}
	return number
}
