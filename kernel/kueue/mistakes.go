package kueue

import (
	"fmt"
	"strconv"
)

// Mistake says what is wrong with the annotations by which templates ask Kueue for a topology, and what to write; "" if nothing is. The
// requests are for all replicas. Kueue checks the same in its own integrations' jobs, but not in a Workload.
func Mistake(requests []Request) string {
	groups := map[string][]Request{}
	for _, p := range requests {
		if problem := layersMistake(p.Template.Annotations); problem != "" {
			return annotation(p, topologyLayers) + problem
		}
		if name, ok := p.Template.Annotations[topologyGroup]; ok {
			groups[name] = append(groups[name], p)
		}
	}
	for _, p := range requests {
		if g := groups[p.Template.Annotations[topologyGroup]]; len(g) > 0 && g[0].Type == p.Type {
			if problem := groupMistake(g); problem != "" {
				return annotation(p, topologyGroup) + problem
			}
		}
	}
	return ""
}

// annotation names an annotation of a replica type's template, and its value.
func annotation(p Request, key string) string {
	return fmt.Sprintf("spec.replicaSpecs[%s].template.metadata.annotations[%s] is %q, ", p.Type, key, p.Template.Annotations[key])
}

// groupMistake says what is wrong with replica types of the same group.
func groupMistake(g []Request) string {
	name := g[0].Template.Annotations[topologyGroup]
	if _, err := strconv.ParseUint(name, 10, 64); err == nil || name == "" {
		return "which is a number or empty: write a name"
	}
	if len(g) != 2 {
		return fmt.Sprintf("which %d replica types have: a group is of exactly two", len(g))
	}
	a, b := g[0], g[1]
	if a.Left != 1 && b.Left != 1 {
		return fmt.Sprintf("but %s has %d replicas and %s has %d: one of the two types must have exactly one", a.Type, a.Left, b.Type, b.Left)
	}
	x, y := a.Template.Annotations, b.Template.Annotations
	if x[topologyRequired] != y[topologyRequired] || x[topologyPreferred] != y[topologyPreferred] || x[topologyRequired]+x[topologyPreferred] == "" {
		return fmt.Sprintf("but %s and %s do not ask for the same: give both the same value of %s, or of %s", a.Type, b.Type, topologyRequired, topologyPreferred)
	}
	for _, p := range g {
		for _, key := range []string{topologySlice, topologySliceSize, topologyLayers} {
			if _, ok := p.Template.Annotations[key]; ok {
				return fmt.Sprintf("but %s has the annotation %s too: a group has no slices. Remove one of the two", p.Type, key)
			}
		}
	}
	return ""
}

// layersMistake says what is wrong with slices of several layers.
func layersMistake(annotations map[string]string) string {
	if _, ok := annotations[topologyLayers]; !ok {
		return ""
	}
	layers, err := layersOf(annotations)
	if err != nil || len(layers) == 0 || len(layers) > 3 {
		return `but must be a JSON list of one to three layers, as in [{"topology": "example.com/rack", "size": 16}, {"topology": "kubernetes.io/hostname", "size": 4}]`
	}
	for _, key := range []string{topologySlice, topologySliceSize} {
		if _, ok := annotations[key]; ok {
			return "beside " + key + ": remove one of the two"
		}
	}
	return mistakeInLayers(layers)
}

// mistakeInLayers says what is wrong with the layers themselves.
func mistakeInLayers(layers []layer) string {
	known := map[string]bool{}
	for i, l := range layers {
		switch {
		case l.Topology == "" || l.Size < 1:
			return fmt.Sprintf("but layer %d must have a topology, and a size of at least 1", i)
		case known[l.Topology]:
			return fmt.Sprintf("but layer %d has the topology %s of an earlier one: name each once", i, l.Topology)
		case i > 0 && layers[i-1].Size%l.Size != 0:
			return fmt.Sprintf("but the size of layer %d, %d, must divide that of the layer before, %d", i, l.Size, layers[i-1].Size)
		}
		known[l.Topology] = true
	}
	return ""
}
