package kueue

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Conditions of a Workload, and their reasons.
const (
	quotaReserved = "QuotaReserved"
	admitted      = "Admitted"
	evicted       = "Evicted"
	podsReady     = "PodsReady"
	requeued      = "Requeued"
	finished      = "Finished"
)

// State is what a Workload says of the job.
type State struct {
	// Exists says that the job has a Workload, Terminating that somebody deletes it.
	Exists, Terminating bool
	// Admitted says that the job may have pods.
	Admitted bool
	// Evicted says that it may not have pods any more. Reason is Kueue's reason for that.
	Evicted bool
	Reason  string
	// Reserves says that the Workload holds quota, or is about to.
	Reserves bool
	// Inactive says that somebody has switched the Workload off.
	Inactive bool
	// Finished says that Kueue has been told that the job is over.
	Finished bool
	// Message says in Kueue's words what the job waits for, or why it was evicted.
	Message string
	// Counts are how many replicas of each type are admitted.
	Counts map[string]int
	// Flavors are the names of the resource flavors of each type.
	Flavors map[string][]string
}

// Read reads a Workload; nil stands for one that does not exist.
func Read(w *unstructured.Unstructured) State {
	if w == nil {
		return State{Message: "its Workload is being created"}
	}
	s := State{Exists: true, Terminating: w.GetDeletionTimestamp() != nil, Counts: map[string]int{}, Flavors: map[string][]string{}}
	active, given, _ := unstructured.NestedBool(w.Object, "spec", "active")
	s.Inactive = given && !active
	conditions := conditionsOf(w)
	s.Evicted, s.Finished = conditions.isTrue(evicted), conditions.isTrue(finished)
	_, hasAdmission, _ := unstructured.NestedMap(w.Object, "status", "admission")
	s.Reserves = hasAdmission || conditions.isTrue(quotaReserved)
	s.Admitted = conditions.isTrue(admitted) && hasAdmission && !s.Evicted && !s.Terminating
	switch {
	case s.Evicted:
		s.Reason, s.Message = conditions.reason(evicted), conditions.message(evicted)
	case conditions.isTrue(quotaReserved) && !s.Admitted:
		s.Message = waitsForChecks(w)
	default:
		s.Message = conditions.message(quotaReserved)
	}
	assignments, _, _ := unstructured.NestedSlice(w.Object, "status", "admission", "podSetAssignments")
	for _, assignment := range assignments {
		m, _ := assignment.(map[string]any)
		name, _ := m["name"].(string)
		if count, ok := m["count"].(int64); ok {
			s.Counts[name] = int(count)
		}
		s.Flavors[name] = flavorsOf(m)
	}
	return s
}

// waitsForChecks says which admission checks are not ready.
func waitsForChecks(w *unstructured.Unstructured) string {
	checks, _, _ := unstructured.NestedSlice(w.Object, "status", "admissionChecks")
	for _, check := range checks {
		m, _ := check.(map[string]any)
		if m["state"] != "Ready" {
			return fmt.Sprintf("admission check %v is %v: %v", m["name"], m["state"], m["message"])
		}
	}
	return "its quota is reserved"
}

func flavorsOf(assignment map[string]any) []string {
	flavors, _, _ := unstructured.NestedStringMap(assignment, "flavors")
	var names []string
	for _, name := range flavors {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// conditions are those of a Workload.
type conditions []map[string]any

func conditionsOf(w *unstructured.Unstructured) conditions {
	list, _, _ := unstructured.NestedSlice(w.Object, "status", "conditions")
	var out conditions
	for _, condition := range list {
		if m, ok := condition.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (c conditions) of(kind string) map[string]any {
	i := slices.IndexFunc(c, func(m map[string]any) bool { return m["type"] == kind })
	if i < 0 {
		return nil
	}
	return c[i]
}

func (c conditions) isTrue(kind string) bool { return c.of(kind)["status"] == "True" }

func (c conditions) reason(kind string) string {
	s, _ := c.of(kind)["reason"].(string)
	return s
}

func (c conditions) message(kind string) string {
	s, _ := c.of(kind)["message"].(string)
	return s
}
