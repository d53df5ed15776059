package kueue

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/genericjob/genericjob/kernel/spec"
)

// sameNeeds reports whether two pods ask the scheduler for the same: what Kueue looks at when it admits them.
func sameNeeds(a, b *corev1.PodSpec) bool {
	return sameRequests(a.Containers, b.Containers) && sameRequests(a.InitContainers, b.InitContainers) &&
		equality.Semantic.DeepEqual(spec.PodRequests(a), spec.PodRequests(b)) &&
		equality.Semantic.DeepEqual(a.NodeSelector, b.NodeSelector) && equality.Semantic.DeepEqual(a.Affinity, b.Affinity) &&
		equality.Semantic.DeepEqual(a.Tolerations, b.Tolerations) && equality.Semantic.DeepEqual(a.Overhead, b.Overhead) &&
		a.PriorityClassName == b.PriorityClassName && equality.Semantic.DeepEqual(a.RuntimeClassName, b.RuntimeClassName)
}

// sameRequests reports whether two lists of containers ask for the same. A limit without a request is one: Kueue fills it in.
func sameRequests(a, b []corev1.Container) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !equality.Semantic.DeepEqual(spec.Asked(&a[i]), spec.Asked(&b[i])) {
			return false
		}
	}
	return true
}
