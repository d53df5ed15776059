package kubeflow

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/translators/framework"
)

// replaceEnvInAll puts variables into every container.
func replaceEnvInAll(program *framework.Program, list []member, variables ...corev1.EnvVar) {
	for i, m := range list {
		containers := program.Spec.ReplicaSpecs[i].Template.Spec.Containers
		for j := range containers {
			replaceEnv(program, m, &containers[j], variables...)
		}
	}
}

// unbuffered makes Python print each line at once: a pod that is killed loses what Python has buffered.
var unbuffered = corev1.EnvVar{Name: "PYTHONUNBUFFERED", Value: "1"}

// replaceEnv adds variables to a container. They replace variables of the user of the same name; only unbuffered keeps the user's value. Variables
// of the user that refer to a replaced one come after it.
func replaceEnv(program *framework.Program, m member, c *corev1.Container, variables ...corev1.EnvVar) {
	variables = slices.Clone(variables)
	var replaced []string
	own := slices.DeleteFunc(c.Env, func(e corev1.EnvVar) bool {
		i := slices.IndexFunc(variables, func(v corev1.EnvVar) bool { return v.Name == e.Name })
		ours := i >= 0
		if ours {
			replaced = append(replaced, "$("+e.Name+")")
		}
		if ours && e.Name == unbuffered.Name {
			variables[i] = e
		} else if ours {
			program.Warnings = append(program.Warnings, framework.Warning{Reason: "EnvironmentReplaced", Message: fmt.Sprintf(
				"%s.template: container %s sets %s, but the operator's takes its place: remove it.", m.field, c.Name, e.Name)})
		}
		return ours
	})
	at := slices.IndexFunc(own, func(e corev1.EnvVar) bool {
		return slices.ContainsFunc(replaced, func(name string) bool { return strings.Contains(e.Value, name) })
	})
	if at < 0 {
		at = len(own)
	}
	c.Env = slices.Insert(own, at, variables...)
}
