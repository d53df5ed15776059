package kubeflow

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// genericJobsNames matches the names of variables that a GenericJob would replace, or take for a near miss of one.
var genericJobsNames = regexp.MustCompile(`^([a-z]{3,8}|(?i:job_?attempts?)|(?i:replicas?|services?|onranks?|var)[\[.].*)$`)

// keepAllVariables protects $(type), $(rank) and the like in texts of the user: in Kubeflow's kinds they are environment variables.
func keepAllVariables(t *corev1.PodTemplateSpec) {
	for _, list := range [][]corev1.Container{t.Spec.InitContainers, t.Spec.Containers} {
		for i := range list {
			c := &list[i]
			for j := range c.Command {
				c.Command[j] = keepVariables(c.Command[j])
			}
			for j := range c.Args {
				c.Args[j] = keepVariables(c.Args[j])
			}
			for j := range c.Env {
				c.Env[j].Value = keepVariables(c.Env[j].Value)
			}
		}
	}
}

// keepVariables returns a text in which Kubernetes finds the variables that it has now. "$$" escapes what follows, even a parenthesis.
func keepVariables(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			break
		}
		end := strings.IndexByte(text[i:], ')')
		if end < 0 {
			break
		}
		name := text[min(i+2, i+end) : i+end]
		if text[i+1] != '(' || strings.Contains(name, "$(") { // no variable, or a shell's own: look inside
			b.WriteString(text[:i+2])
			text = text[i+2:]
			continue
		}
		if genericJobsNames.MatchString(name) {
			name = "var[" + name + "]"
		}
		b.WriteString(text[:i] + "$(" + name + ")")
		text = text[i+end+1:]
	}
	return b.String() + text
}
