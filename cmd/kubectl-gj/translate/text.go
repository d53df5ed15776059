package translate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Lines describe what would be made of a job, a line for each object. The kinds must have been set.
func (m *Made) Lines() []string {
	lines := []string{fmt.Sprintf("%s/%s", m.Kind.Kind, m.Job.GetName())}
	for _, w := range m.Warnings {
		lines = append(lines, "├─ WARNING: "+w)
	}
	if m.Err != nil {
		return append(lines, "└─ ERROR: "+strings.ReplaceAll(m.Err.Error(), "\n", "\n          "))
	}
	gj, _ := m.Job.(*v1beta1.GenericJob)
	for i, o := range m.Objects {
		if made, ok := o.(*v1beta1.GenericJob); ok {
			gj = made
		}
		bend := "├─ "
		if i == len(m.Objects)-1 {
			bend = "└─ "
		}
		lines = append(lines, bend+o.GetObjectKind().GroupVersionKind().Kind+"/"+o.GetName()+detail(gj, o))
	}
	return lines
}

// detail returns what is worth saying of an object in its line.
func detail(gj *v1beta1.GenericJob, o client.Object) string {
	switch made := o.(type) {
	case *v1beta1.GenericJob:
		var types []string
		for _, t := range spec.ReplicaTypes(made, false) {
			types = append(types, fmt.Sprintf("%s ×%d", t.Type, t.N))
		}
		return "  " + strings.Join(types, ", ")
	case *corev1.ConfigMap:
		return fmt.Sprintf("  %d entries", len(made.Data))
	case *corev1.Pod:
		return podDetail(gj, made)
	default:
		return ""
	}
}

// podDetail returns what the container runs that matters most, and of how many pods this one is the first.
func podDetail(gj *v1beta1.GenericJob, pod *corev1.Pod) string {
	name := logs.Main(pod)
	for _, c := range pod.Spec.Containers {
		if c.Name == name {
			return strings.TrimRight("  "+c.Image+" "+strings.Join(slices.Concat(c.Command, c.Args), " "), " ") + more(gj, pod)
		}
	}
	return ""
}

// more says how many replicas of the type have a pod of the same kind, if this is rank 0.
func more(gj *v1beta1.GenericJob, pod *corev1.Pod) string {
	if gj == nil || pod.Labels[v1beta1.LabelReplicaRank] != "0" {
		return ""
	}
	for _, t := range spec.ReplicaTypes(gj, false) {
		if t.Type == pod.Labels[v1beta1.LabelReplicaType] && t.N > 1 {
			return fmt.Sprintf("  (1 of %d)", t.N)
		}
	}
	return ""
}
