package kueue

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Names that Kueue finds on pods.
const (
	labelPodSet  = "kueue.x-k8s.io/podset"
	workloadName = "kueue.x-k8s.io/workload"
)

// Placement is what the pods of a replica type get from the admission of their job.
type Placement struct {
	Labels, Annotations, NodeSelector map[string]string
	Tolerations                       []corev1.Toleration
	// Gated says that Kueue chooses the topology domain of each pod before the scheduler may look at the pod.
	Gated bool
	// Follows says that in Kueue's order the ranks of the type follow the one replica of another type.
	Follows bool
}

// PlacementOf returns what an admitted Workload says for a replica type. Flavors are the resource flavors that the Workload names.
func PlacementOf(w *unstructured.Unstructured, replicaType string, flavors map[string]*unstructured.Unstructured) Placement {
	p := Placement{Labels: map[string]string{labelPodSet: replicaType}, Annotations: map[string]string{}, NodeSelector: map[string]string{}}
	for _, name := range Read(w).Flavors[replicaType] {
		if f := flavors[name]; f != nil {
			labels, _, _ := unstructured.NestedStringMap(f.Object, "spec", "nodeLabels")
			maps.Copy(p.NodeSelector, labels)
			p.tolerate(f.Object, "spec", "tolerations")
		}
	}
	p.addUpdates(w, replicaType)
	assignments, _, _ := unstructured.NestedSlice(w.Object, "status", "admission", "podSetAssignments")
	for _, assignment := range assignments {
		m, _ := assignment.(map[string]any)
		if _, ok := m["topologyAssignment"]; ok && m["name"] == replicaType {
			p.Gated = true
			p.Annotations[workloadName] = w.GetName()
			set := setOf(w, replicaType)
			p.Follows = set.topology["podIndexLabel"] == v1beta1.LabelGroupRank
			if isFree(set.topology) {
				p.Annotations[topologyUnconstrained] = "true" // Kueue knows a pod whose node it chooses by this
			}
		}
	}
	return p
}

// addUpdates adds what admission checks say for a replica type.
func (p *Placement) addUpdates(w *unstructured.Unstructured, replicaType string) {
	checks, _, _ := unstructured.NestedSlice(w.Object, "status", "admissionChecks")
	for _, check := range checks {
		c, _ := check.(map[string]any)
		updates, _, _ := unstructured.NestedSlice(c, "podSetUpdates")
		for _, update := range updates {
			u, _ := update.(map[string]any)
			if u["name"] != replicaType {
				continue
			}
			for field, into := range map[string]map[string]string{"labels": p.Labels, "annotations": p.Annotations, "nodeSelector": p.NodeSelector} {
				values, _, _ := unstructured.NestedStringMap(u, field)
				maps.Copy(into, values)
			}
			p.tolerate(u, "tolerations")
		}
	}
}

func (p *Placement) tolerate(in map[string]any, path ...string) {
	list, _, _ := unstructured.NestedSlice(in, path...)
	for _, toleration := range list {
		var t corev1.Toleration
		if m, ok := toleration.(map[string]any); ok && runtime.DefaultUnstructuredConverter.FromUnstructured(m, &t) == nil {
			p.Tolerations = append(p.Tolerations, t)
		}
	}
}

// Apply has a pod go where its job was admitted.
func (p Placement) Apply(pod *corev1.Pod) {
	merge(&pod.Labels, p.Labels)
	merge(&pod.Annotations, p.Annotations)
	merge(&pod.Spec.NodeSelector, p.NodeSelector)
	for _, t := range p.Tolerations {
		if !contains(pod.Spec.Tolerations, t) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
		}
	}
	if rank, err := strconv.Atoi(pod.Labels[v1beta1.LabelReplicaRank]); err == nil && p.Follows {
		pod.Labels[v1beta1.LabelGroupRank] = strconv.Itoa(rank + 1)
	}
	if p.Gated {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: spec.TopologyGate})
	}
}

func merge(into *map[string]string, from map[string]string) {
	if len(from) == 0 {
		return
	}
	if *into == nil {
		*into = map[string]string{}
	}
	maps.Copy(*into, from)
}

func contains(list []corev1.Toleration, t corev1.Toleration) bool {
	for i := range list {
		if equality.Semantic.DeepEqual(list[i], t) {
			return true
		}
	}
	return false
}
