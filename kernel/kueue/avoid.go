package kueue

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/kernel/spec"
)

// Where Kueue chooses the node of each pod, it binds the pod to that by a node selector. A pod that avoids the node as well can go nowhere, and a new
// pod of the same rank is bound for the same node. So only a Workload that excludes the node helps, and a new admission.

// ChoosesNodes reports whether Kueue has chosen the node of each pod of a replica type, by a topology down to host names.
func ChoosesNodes(w *unstructured.Unstructured, replicaType string) bool {
	return assignmentOf(w, replicaType).toNodes()
}

func (a topologyAssignment) toNodes() bool {
	return len(a.Levels) > 0 && a.Levels[len(a.Levels)-1] == corev1.LabelHostname
}

// Avoided returns the nodes that a Workload excludes because the job avoided them when it was made.
func Avoided(w *unstructured.Unstructured) []string {
	if w == nil {
		return nil
	}
	return spec.AvoidedBy(w.GetAnnotations())
}

// AssignsTo reports whether Kueue has chosen a node for some pod of these replica types, by the host name of the node.
func AssignsTo(w *unstructured.Unstructured, node string, replicaTypes []string) bool {
	return slices.ContainsFunc(replicaTypes, func(replicaType string) bool {
		a := assignmentOf(w, replicaType)
		if !a.toNodes() {
			return false
		}
		for domain := range a.domains {
			levels := strings.Split(strings.TrimSuffix(string(domain), "\n"), "\n")
			if levels[len(levels)-1] == node {
				return true
			}
		}
		return false
	})
}
