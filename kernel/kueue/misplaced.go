package kueue

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Misplaced returns two pods of a replica type, neighbours by rank, whose domains Kueue has listed the other way round; nil if there are
// none. Pods are by rank, some of them nil. Kueue lists domains so that neighbours are near each other. Where Kueue cannot read the ranks, it fills
// domains in any order, and says nothing of that.
func Misplaced(w *unstructured.Unstructured, replicaType string, pods []*corev1.Pod) (first, second *corev1.Pod) {
	a := assignmentOf(w, replicaType)
	positions := a.positionsOf(pods)
	last := 0
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		position, ok := positions[string(a.domainOf(pod))]
		switch {
		case !ok: // it waits at its gate, or Kueue has replaced its node since
		case position < last:
			return first, pod
		default:
			first, last = pod, position
		}
	}
	return nil, nil
}

// positionsOf returns the positions, in Kueue's list, of the domains in which pods are. Other domains are not kept: a few bytes of the list may stand
// for many, and whoever may write a Workload writes it.
func (a topologyAssignment) positionsOf(pods []*corev1.Pod) map[string]int {
	if len(a.Levels) == 0 || len(a.Levels) > maxLevels {
		return nil
	}
	wanted := map[string]bool{}
	for _, pod := range pods {
		if pod != nil {
			wanted[string(a.domainOf(pod))] = true
		}
	}
	positions, n := map[string]int{}, 0
	for domain := range a.domains {
		if wanted[string(domain)] {
			positions[string(domain)] = n
			delete(wanted, string(domain)) // the first position counts
		}
		if n++; n == maxDomains || len(wanted) == 0 {
			break
		}
	}
	return positions
}

// domainOf returns the domain in which a pod is.
func (a topologyAssignment) domainOf(pod *corev1.Pod) (domain []byte) {
	for _, level := range a.Levels {
		domain = with(domain, pod.Spec.NodeSelector[level])
	}
	return domain
}
