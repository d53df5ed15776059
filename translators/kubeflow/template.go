package kubeflow

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// addReplicas adds the replicas of each type to a program, with the job's Service. It returns the port of each type.
func (k *kind) addReplicas(program *framework.Program, job string, list []member) map[string]int32 {
	ports := map[string]int32{}
	service := &v1beta1.ServiceOption{}
	known := map[int32]bool{}
	for _, m := range list {
		template := m.spec.Template.DeepCopy()
		if p := template.Spec.RestartPolicy; p != "" {
			program.Warnings = append(program.Warnings, framework.Warning{Reason: "SetPodTemplateRestartPolicy", Message: fmt.Sprintf(
				"%s.template.spec.restartPolicy is %s, which has no effect: the operator replaces pods by %s.restartPolicy. Remove it.", m.field, p, m.field)})
		}
		program.WarnOfHostName(m.field, template)
		keepAllVariables(template)
		k.addLabels(template, job, m.name, leader(list))
		framework.SetMainContainer(template, k.trainerName(template))
		port := int32(0)
		if k.port != 0 {
			port = framework.EnsurePort(framework.FindContainer(template, k.container), k.portName, k.port)
			ports[m.name] = port
		}
		if port != 0 && !known[port] {
			name := k.portName
			if len(known) > 0 {
				name += "-" + strconv.Itoa(int(port))
			}
			known[port] = true
			service.Ports = append(service.Ports, corev1.ServicePort{Name: name, Port: port, Protocol: corev1.ProtocolTCP})
		}
		program.Spec.ReplicaSpecs = append(program.Spec.ReplicaSpecs, v1beta1.ReplicaSpec{
			Type: m.name, Replicas: ptr.To(m.replicas), RestartPolicy: k.restartPolicy(m.spec.RestartPolicy), Template: *template,
		})
	}
	program.Spec.Service = service
	return ports
}

// addLabels adds Kubeflow's labels to a template. They replace the template's own.
func (k *kind) addLabels(t *corev1.PodTemplateSpec, job, name, leader string) {
	if t.Labels == nil {
		t.Labels = map[string]string{}
	}
	t.Labels[kubeflow.LabelOperatorName] = k.operator
	t.Labels[kubeflow.LabelJobName] = job
	t.Labels[kubeflow.LabelReplicaType] = name
	t.Labels[kubeflow.LabelReplicaIndex] = "$(rank)"
	delete(t.Labels, kubeflow.LabelJobRole)
	switch {
	case k.roleIsType:
		t.Labels[kubeflow.LabelJobRole] = name
	case name != leader:
	case name == worker:
		t.Labels[kubeflow.LabelJobRole] = "$(onRank[0]." + kubeflow.RoleMaster + ")"
	default:
		t.Labels[kubeflow.LabelJobRole] = kubeflow.RoleMaster
	}
}

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

// replaceEnv adds variables to a container. They replace variables of the user of the same name; only unbuffered keeps the user's value. Variables of the
// user that refer to a replaced one come after it.
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
