package kerneltest

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/kernel"
)

// Flavor is the one resource flavor in which the cluster's Kueue admits.
var Flavor = &unstructured.Unstructured{Object: map[string]any{
	"metadata": map[string]any{"name": "spot"},
	"spec": map[string]any{
		"nodeLabels":  map[string]any{"pool": "spot"},
		"tolerations": []any{map[string]any{"key": "spot", "operator": "Exists"}},
	},
}}

// Kueue is what a reconcile sees of Kueue.
func (c *Cluster) Kueue() kernel.Kueue {
	k := kernel.Kueue{Priority: new(int32(7)), FlavorForbidden: c.FlavorForbidden, Flavors: map[string]*unstructured.Unstructured{}}
	if !c.NoFlavor {
		k.Flavors["spot"] = Flavor
	}
	if c.Also != "" {
		k.Flavors[c.Also] = Flavor
	}
	if c.Workload != nil {
		k.Workload = c.Workload.DeepCopy()
	}
	return k
}

// Admit is Kueue's admission of the job.
func (c *Cluster) Admit() {
	sets, _, _ := unstructured.NestedSlice(c.Workload.Object, "spec", "podSets")
	given := map[any]int64{}
	back, _, _ := unstructured.NestedSlice(c.Workload.Object, "status", "reclaimablePods")
	for _, one := range back {
		given[one.(map[string]any)["name"]] = one.(map[string]any)["count"].(int64)
	}
	var assignments []any
	for _, set := range sets {
		s := set.(map[string]any)
		count := s["count"].(int64) - given[s["name"]] // as Kueue does
		assignments = append(assignments, map[string]any{"name": s["name"], "count": count, "flavors": map[string]any{"cpu": "spot", "memory": "spot"}})
	}
	status := c.workloadStatus()
	status["admission"] = map[string]any{"clusterQueue": "all", "podSetAssignments": assignments}
	c.setCondition("QuotaReserved", "True", "QuotaReserved", "")
	c.setCondition("Admitted", "True", "Admitted", "")
	c.setCondition("Evicted", "False", "QuotaReserved", "")
}

// EvictWorkload is Kueue's eviction of the job.
func (c *Cluster) EvictWorkload(reason, message string) {
	c.setCondition("Evicted", "True", reason, message)
}

// Refuse has Kueue say why it does not admit the job.
func (c *Cluster) Refuse(message string) {
	c.setCondition("QuotaReserved", "False", "Pending", message)
}

func (c *Cluster) workloadStatus() map[string]any {
	status, ok := c.Workload.Object["status"].(map[string]any)
	if !ok {
		status = map[string]any{}
		c.Workload.Object["status"] = status
	}
	return status
}

func (c *Cluster) setCondition(kind, value, reason, message string) {
	c.rv++
	status := c.workloadStatus()
	next := map[string]any{"type": kind, "status": value, "reason": reason, "message": message, "lastTransitionTime": c.Now.Format(time.RFC3339)}
	list, _ := status["conditions"].([]any)
	for i := range list {
		if list[i].(map[string]any)["type"] == kind {
			list[i] = next
			return
		}
	}
	status["conditions"] = append(list, next)
}

// Is reports whether a condition of the Workload is True.
func (c *Cluster) Is(kind string) bool {
	list, _ := c.workloadStatus()["conditions"].([]any)
	for _, one := range list {
		if m := one.(map[string]any); m["type"] == kind {
			return m["status"] == "True"
		}
	}
	return false
}

// deleteObject deletes a PodGroup or the Workload.
func (c *Cluster) deleteObject(o *unstructured.Unstructured) {
	c.rv++
	if o.GetKind() == "Workload" {
		c.Workload = nil
		return
	}
	delete(c.Groups, o.GetName())
}
