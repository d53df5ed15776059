package spec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Main returns the index of the container that trains: the one that the annotation names, or else the template's only one. It is -1 if neither is
// there.
func Main(template *corev1.PodTemplateSpec) int {
	list := template.Spec.Containers
	if name, ok := template.Annotations[v1beta1.AnnotationDefaultContainer]; ok {
		return slices.IndexFunc(list, func(c corev1.Container) bool { return c.Name == name })
	}
	if len(list) == 1 {
		return 0
	}
	return -1
}

// WhyNoWrapper says why the operator cannot start the code of a replica spec's pods itself, and what to do about it; "" if it can.
func WhyNoWrapper(r *v1beta1.ReplicaSpec) string {
	i := Main(&r.Template)
	switch {
	case i < 0:
		return "it has several containers: name the one that trains by the annotation " + v1beta1.AnnotationDefaultContainer
	case len(r.Template.Spec.Containers[i].Command) == 0:
		return fmt.Sprintf("container %s has no command, and what its image runs is not known: set command", r.Template.Spec.Containers[i].Name)
	case r.Template.Spec.HostNetwork:
		return "hostNetwork is on: pods of one node would share a port"
	default:
		return ""
	}
}

// WhyTypeNotInPlace says why the pods of a replica spec cannot be restarted in place, and what to do about it; "" if they can.
func WhyTypeNotInPlace(r *v1beta1.ReplicaSpec) string {
	if why := WhyNoWrapper(r); why != "" {
		return why
	}
	c := &r.Template.Spec.Containers[Main(&r.Template)]
	for _, problem := range []struct {
		is   bool
		text string
	}{
		{c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0, fmt.Sprintf("container %s has a restartPolicy of its own: remove it", c.Name)},
		{c.LivenessProbe != nil || c.StartupProbe != nil, fmt.Sprintf("container %s has a livenessProbe or startupProbe, which would kill it while it waits for the others: remove it", c.Name)},
		{c.Lifecycle != nil && c.Lifecycle.PostStart != nil, fmt.Sprintf("container %s has a postStart hook, which would run once only: remove it", c.Name)},
	} {
		if problem.is {
			return problem.text
		}
	}
	return ""
}

// withoutWrapper says why no pod is made to be restarted in place, or watched, and what to do about it.
const withoutWrapper = "this operator has no image with the wrapper. Run it in a pod, or set its flag --wrapper-image"

// WhyNotInPlace says which pods of a job that asks for restarts in place are replaced nevertheless, why, and what to do about it.
func WhyNotInPlace(s *v1beta1.GenericJobSpec, noWrapper bool) []string {
	if s.RestartStrategy != v1beta1.RestartInPlace {
		return nil
	}
	if noWrapper {
		return []string{"pods are replaced: " + withoutWrapper}
	}
	return lacking(s, "pods of type %s are replaced: %s", WhyTypeNotInPlace)
}

// lacking returns a sentence for each type that is not auxiliary and for which why gives a reason. The format words takes the type and the reason.
func lacking(s *v1beta1.GenericJobSpec, words string, why func(*v1beta1.ReplicaSpec) string) (list []string) {
	for i := range s.ReplicaSpecs {
		r := &s.ReplicaSpecs[i]
		if reason := why(r); reason != "" && !r.Auxiliary {
			list = append(list, fmt.Sprintf(words, r.Type, reason))
		}
	}
	return list
}
