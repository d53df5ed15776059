package queue

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// OutOfOrder returns two pods of a replica type, neighbours by rank, of which the second is in a domain that Kueue has listed before that
// of the first; nil if there are none. Pods are by rank, some of them nil. Kueue lists domains so that neighbours are near each other. It
// fills them in any order where it cannot read the ranks, and says nothing of that.
func OutOfOrder(w *unstructured.Unstructured, replicaType string, pods []*corev1.Pod) (first, second *corev1.Pod) {
	levels, places := domainsOf(w, replicaType)
	last := -1
	for _, pod := range pods {
		if pod == nil {
			continue
		}
		var values []string
		for _, level := range levels {
			values = append(values, pod.Spec.NodeSelector[level])
		}
		place, known := places[strings.Join(values, "\n")]
		switch {
		case !known: // it waits at its gate, or Kueue has replaced its node since
		case place < last:
			return first, pod
		default:
			first, last = pod, place
		}
	}
	return nil, nil
}

// domainsOf are the levels of a replica type's topology, and the place of each domain in Kueue's list, by its values.
func domainsOf(w *unstructured.Unstructured, replicaType string) (levels []string, places map[string]int) {
	if w == nil {
		return nil, nil
	}
	assignments, _, _ := unstructured.NestedSlice(w.Object, "status", "admission", "podSetAssignments")
	for _, one := range assignments {
		m, _ := one.(map[string]any)
		if m["name"] != replicaType {
			continue
		}
		levels, _, _ = unstructured.NestedStringSlice(m, "topologyAssignment", "levels")
		list, _, _ := unstructured.NestedSlice(m, "topologyAssignment", "slices")
		places = map[string]int{}
		for _, part := range list {
			s, _ := part.(map[string]any)
			addDomains(s, places)
		}
	}
	return levels, places
}

// addDomains adds the domains of a slice of an assignment. What all domains have in common is written once in it.
func addDomains(slice map[string]any, places map[string]int) {
	count, _ := slice["domainCount"].(int64)
	perLevel, _, _ := unstructured.NestedSlice(slice, "valuesPerLevel")
	for i := range int(min(count, 100_000)) { // as many as the CRD lets in
		var values []string
		for _, one := range perLevel {
			level, _ := one.(map[string]any)
			values = append(values, valueAt(level, i))
		}
		if key := strings.Join(values, "\n"); len(values) > 0 {
			if _, known := places[key]; !known {
				places[key] = len(places)
			}
		}
	}
}

// valueAt is the value of a level in the domain of a slice.
func valueAt(level map[string]any, i int) string {
	if all, is := level["universalValue"].(string); is {
		return all
	}
	roots, _ := level["roots"].([]any)
	if i >= len(roots) {
		return ""
	}
	prefix, _ := level["prefix"].(string)
	root, _ := roots[i].(string)
	suffix, _ := level["suffix"].(string)
	return prefix + root + suffix
}
