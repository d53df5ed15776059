package kueue

import (
	"encoding/json"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Annotations of a pod template by which users of Kueue say how close together pods are placed.
const (
	topologyRequired      = "kueue.x-k8s.io/podset-required-topology"
	topologyPreferred     = "kueue.x-k8s.io/podset-preferred-topology"
	topologyUnconstrained = "kueue.x-k8s.io/podset-unconstrained-topology"
	topologySlice         = "kueue.x-k8s.io/podset-slice-required-topology"
	topologySliceSize     = "kueue.x-k8s.io/podset-slice-size"
	topologyLayers        = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
	topologyGroup         = "kueue.x-k8s.io/podset-group-name"
)

// fieldLayers is the field of a topology request that Kueue has since 0.19.
const fieldLayers = "podsetSliceRequiredTopologyConstraints"

// sameTopology reports whether two requests are the same. An older Kueue drops the field of layers: a Workload without it is not made again
// for that, or it would be for ever.
func sameTopology(have, want map[string]any) bool {
	if _, ok := have[fieldLayers]; !ok {
		want = maps.Clone(want)
		delete(want, fieldLayers)
	}
	return equality.Semantic.DeepEqual(have, want)
}

// topologyRequest returns what a template's annotations ask of topology-aware scheduling for so many pods. Kueue finds their ranks by a
// label, and places neighbours near each other; where finished ranks have left gaps, it places them in any order.
func topologyRequest(annotations map[string]string, count int, m member) map[string]any {
	request := map[string]any{"podIndexLabel": v1beta1.LabelReplicaRank}
	required, preferred := annotations[topologyRequired], annotations[topologyPreferred]
	switch {
	case required != "":
		request["required"] = required
	case preferred != "":
		request["preferred"] = preferred
	case annotations[topologyUnconstrained] != "":
		request["unconstrained"] = annotations[topologyUnconstrained] == "true"
	}
	if m.group != "" {
		request["podSetGroupName"] = m.group
		if m.follows {
			request["podIndexLabel"] = v1beta1.LabelGroupRank
		}
		return request
	}
	maps.Copy(request, slicesRequest(annotations, count))
	return request
}

// slicesRequest returns what annotations ask of slices, or of their layers. Slices are all of one size. What finished replicas have left may
// not be: then it asks for none.
func slicesRequest(annotations map[string]string, count int) map[string]any {
	request := map[string]any{}
	if size, err := strconv.Atoi(annotations[topologySliceSize]); err == nil && size > 0 && count%size == 0 && annotations[topologySlice] != "" {
		request["podSetSliceRequiredTopology"] = annotations[topologySlice]
		request["podSetSliceSize"] = int64(size)
	}
	if layers, err := layersOf(annotations); err == nil && len(layers) > 0 && layersMistake(annotations) == "" && count%layers[0].Size == 0 {
		var list []any
		for _, l := range layers {
			list = append(list, map[string]any{"topology": l.Topology, "size": int64(l.Size)})
		}
		request[fieldLayers] = list
	}
	return request
}

// isFree reports whether a request leaves it to Kueue how close together the pods are.
func isFree(request map[string]any) bool {
	return request["required"] == nil && request["preferred"] == nil && request["unconstrained"] == nil
}

// layer is a size of slices within which pods are placed in one domain of a topology; each divides the one before.
type layer struct {
	Topology string `json:"topology"`
	Size     int    `json:"size"`
}

func layersOf(annotations map[string]string) (layers []layer, err error) {
	if text := annotations[topologyLayers]; text != "" {
		err = json.Unmarshal([]byte(text), &layers)
	}
	return layers, err
}

// member is a replica type as part of a group, which Kueue places in one domain of a topology. Follows says that its ranks come after
// the other type's one replica.
type member struct {
	group   string
	follows bool
}

// membersOf returns the members of groups, by replica type. A group is of two types, one of which has one replica left. Others, of which a
// type has finished perhaps, are placed each by itself.
func membersOf(requests []Request) map[string]member {
	groups := map[string][]Request{}
	for _, p := range requests {
		if name := p.Template.Annotations[topologyGroup]; name != "" && p.Left > 0 {
			groups[name] = append(groups[name], p)
		}
	}
	members := map[string]member{}
	for name, g := range groups {
		if len(g) != 2 || groupMistake(g) != "" {
			continue
		}
		first, second := g[0], g[1]
		if first.Left > second.Left { // Kueue takes the smaller set for the first; of two equal ones, whichever the Workload lists first
			first, second = second, first
		}
		members[first.Type], members[second.Type] = member{name, false}, member{name, true}
	}
	return members
}
