package kueue

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// maxLevels is how many levels Kueue lets a topology have.
const maxLevels = 16

// maxDomains is how many domains of an assignment are read, ten for each replica that a type may have.
const maxDomains = 100_000

// topologyAssignment is Kueue's list of the domains in which a replica type's pods are. The form is that of v1beta2.
type topologyAssignment struct {
	Levels []string `json:"levels"`
	Slices []slice  `json:"slices"`
}

// slice is a part of the list, in which what domains have in common is written once. Its domainCount is not read: it is the number of
// roots, and the domains of a slice without roots are one.
type slice struct {
	ValuesPerLevel []levelValues `json:"valuesPerLevel"`
}

// levelValues are the values of a level: one for all domains, or one for each.
type levelValues struct {
	Universal  *string     `json:"universal"`
	Individual *individual `json:"individual"`
}

type individual struct {
	Prefix string   `json:"prefix"`
	Suffix string   `json:"suffix"`
	Roots  []string `json:"roots"`
}

// assignmentOf is that of a replica type; an empty one if there is none, or none that can be read.
func assignmentOf(w *unstructured.Unstructured, replicaType string) (a topologyAssignment) {
	if w == nil {
		return a
	}
	value, _, _ := unstructured.NestedFieldNoCopy(w.Object, "status", "admission", "podSetAssignments")
	list, _ := value.([]any)
	for _, assignment := range list {
		m, _ := assignment.(map[string]any)
		topology, ok := m["topologyAssignment"].(map[string]any)
		if !ok || m["name"] != replicaType {
			continue
		}
		if runtime.DefaultUnstructuredConverter.FromUnstructured(topology, &a) != nil {
			return topologyAssignment{}
		}
		return a
	}
	return a
}

// domains yields each domain, in order. The next one overwrites it.
func (a topologyAssignment) domains(yield func([]byte) bool) {
	var domain []byte
	for _, s := range a.Slices {
		for i := range s.count(len(a.Levels)) {
			domain = domain[:0]
			for _, values := range s.ValuesPerLevel {
				domain = values.appendTo(domain, i)
			}
			if !yield(domain) {
				return
			}
		}
	}
}

// count returns how many domains a slice has: none if it has not the values of each level.
func (s slice) count(levels int) int {
	if len(s.ValuesPerLevel) != levels {
		return 0
	}
	n := -1
	for _, values := range s.ValuesPerLevel {
		switch {
		case values.Universal != nil:
		case values.Individual == nil:
			return 0
		case n < 0 || len(values.Individual.Roots) < n:
			n = len(values.Individual.Roots)
		}
	}
	if n < 0 {
		return 1
	}
	return n
}

// appendTo appends the level's value in a domain.
func (v levelValues) appendTo(domain []byte, i int) []byte {
	if v.Universal != nil {
		return with(domain, *v.Universal)
	}
	domain = append(domain, v.Individual.Prefix...)
	domain = append(domain, v.Individual.Roots[i]...)
	return with(domain, v.Individual.Suffix)
}

// with returns a domain with the end of a value. No label's value has the byte between two.
func with(domain []byte, end string) []byte {
	return append(append(domain, end...), '\n')
}
