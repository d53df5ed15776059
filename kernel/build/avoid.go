package build

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Avoid has a pod avoid nodes, and say which.
func Avoid(pod *corev1.Pod, nodes []string) {
	if !spec.ExcludeNodes(&pod.Spec, nodes) {
		return
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1beta1.AnnotationAvoids] = strings.Join(nodes, ",")
}

// Avoided returns the nodes that a pod was made to avoid.
func Avoided(pod *corev1.Pod) []string { return spec.AvoidedBy(pod.Annotations) }
