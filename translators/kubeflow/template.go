package kubeflow

import (
	"fmt"

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
		if k.port != 0 {
			ports[m.name] = framework.EnsurePort(framework.FindContainer(template, k.container), k.portName, k.port)
			framework.AddServicePort(service, k.portName, ports[m.name])
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
