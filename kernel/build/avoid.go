package build

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// nodeName is the field of a node by which pods avoid it: its label kubernetes.io/hostname may be another.
const nodeName = "metadata.name"

// Avoid has a pod avoid nodes, by a required affinity in each of its node selector terms. Terms are alternatives, so one that lacks it would let the
// pod go there. A pod whose template names its node is left alone: it can go nowhere else.
func Avoid(pod *corev1.Pod, nodes []string) {
	if len(nodes) == 0 || pod.Spec.NodeName != "" || pod.Spec.NodeSelector[corev1.LabelHostname] != "" {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil {
		*required = &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)}
		exclude(&(*required).NodeSelectorTerms[0], nodes)
	} else {
		for i := range (*required).NodeSelectorTerms {
			t := &(*required).NodeSelectorTerms[i]
			if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // else it matches no node, and must not begin to match some
				exclude(t, nodes)
			}
		}
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1beta1.AnnotationAvoids] = strings.Join(nodes, ",")
}

// exclude adds to a term that the node is none of these. The apiserver takes one name for each requirement.
func exclude(t *corev1.NodeSelectorTerm, nodes []string) {
	for _, name := range nodes {
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{Key: nodeName, Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}})
	}
}

// Avoided are the nodes that a pod was made to avoid.
func Avoided(pod *corev1.Pod) []string {
	if text := pod.Annotations[v1beta1.AnnotationAvoids]; text != "" {
		return strings.Split(text, ",")
	}
	return nil
}
