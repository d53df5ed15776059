package kueue

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// asking is the request of a replica type whose template has these annotations.
func asking(replicaType string, left int, annotations ...string) Request {
	t := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		t.Annotations[annotations[i]] = annotations[i+1]
	}
	return Request{Type: replicaType, Left: left, Template: t}
}

// inRack is a request in one group, in a rack.
func inRack(replicaType string, left int, more ...string) Request {
	return asking(replicaType, left, append([]string{topologyGroup, "ring", topologyRequired, "rack"}, more...)...)
}

// requests are the topology requests of a job's Workload, by replica type.
func topologiesOf(requests ...Request) map[string]map[string]any {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	found := map[string]map[string]any{}
	for _, s := range setsOf(Workload(job, v1beta1.KueueScheduler{QueueName: "team"}, requests, nil)) {
		found[s.name] = s.topology
	}
	return found
}

// Without a group the master and the workers may land in two racks.
func TestMasterAndWorkersOfAGroupLandInOneRack(t *testing.T) {
	const own, after = v1beta1.LabelReplicaRank, v1beta1.LabelGroupRank
	in := func(label string) map[string]any {
		return map[string]any{"podIndexLabel": label, "required": "rack", "podSetGroupName": "ring"}
	}
	alone := map[string]any{"podIndexLabel": own, "required": "rack"}
	for name, tc := range map[string]struct {
		requests []Request
		want     map[string]map[string]any
	}{
		"master and workers":           {[]Request{inRack("master", 1), inRack("worker", 3)}, map[string]map[string]any{"master": in(own), "worker": in(after)}},
		"workers come first":           {[]Request{inRack("worker", 3), inRack("master", 1)}, map[string]map[string]any{"master": in(own), "worker": in(after)}},
		"two of one replica":           {[]Request{inRack("a", 1), inRack("b", 1)}, map[string]map[string]any{"a": in(own), "b": in(after)}},
		"which the job lists by need":  {[]Request{inRack("b", 1), inRack("a", 1)}, map[string]map[string]any{"b": in(own), "a": in(after)}}, // as Kueue does
		"a third type is in no group":  {[]Request{inRack("master", 1), inRack("worker", 3), asking("store", 1)}, map[string]map[string]any{"master": in(own), "worker": in(after), "store": {"podIndexLabel": own}}},
		"the master has finished":      {[]Request{inRack("master", 0), inRack("worker", 3)}, map[string]map[string]any{"worker": alone}},
		"a job that no group is of":    {[]Request{inRack("a", 2), inRack("b", 3)}, map[string]map[string]any{"a": alone, "b": alone}},
		"one type is not in the group": {[]Request{asking("master", 1, topologyRequired, "rack"), inRack("worker", 3)}, map[string]map[string]any{"master": alone, "worker": alone}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, topologiesOf(tc.requests...)) })
	}
}

// Kueue counts ranks of a group on. A worker whose rank is 0 would be below its first, and Kueue would place all in any order.
func TestRanksOfAGroupFollowTheMasters(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	w := Workload(job, v1beta1.KueueScheduler{QueueName: "team"}, []Request{inRack("master", 1), inRack("worker", 3)}, nil)
	assigned := func(name string, n int64) any {
		return map[string]any{"name": name, "count": n, "topologyAssignment": map[string]any{"levels": []any{"rack"}}}
	}
	require.NoError(t, unstructured.SetNestedSlice(w.Object, []any{assigned("master", 1), assigned("worker", 3)}, "status", "admission", "podSetAssignments"))
	pod := func(replicaType, rank string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1beta1.LabelReplicaRank: rank}}}
		PlacementOf(w, replicaType, nil).Apply(p)
		return p
	}
	require.Equal(t, "3", pod("worker", "2").Labels[v1beta1.LabelGroupRank])
	require.Equal(t, "1", pod("worker", "0").Labels[v1beta1.LabelGroupRank])
	require.NotContains(t, pod("master", "0").Labels, v1beta1.LabelGroupRank)
	require.Equal(t, "2", pod("worker", "2").Labels[v1beta1.LabelReplicaRank], "the job's own ranks stay")
}

func TestSlicesHaveLayers(t *testing.T) {
	const layers = `[{"topology": "rack", "size": 4}, {"topology": "host", "size": 2}]`
	want := map[string]any{"podIndexLabel": v1beta1.LabelReplicaRank, "required": "block", "podsetSliceRequiredTopologyConstraints": []any{
		map[string]any{"topology": "rack", "size": int64(4)}, map[string]any{"topology": "host", "size": int64(2)},
	}}
	of := func(left int) map[string]any {
		return topologiesOf(asking("worker", left, topologyRequired, "block", topologyLayers, layers))["worker"]
	}
	require.Equal(t, want, of(8))
	require.NotContains(t, of(7), "podsetSliceRequiredTopologyConstraints", "what finished replicas have left is not whole slices")
	require.Empty(t, Mistake([]Request{asking("worker", 8, topologyRequired, "block", topologyLayers, layers)}))
}

// Kueue checks these in jobs that it knows, and in a Workload it checks none. It would never admit the job, or place it in any way.
func TestMistakesInATopologyAreNamed(t *testing.T) {
	const at = "spec.replicaSpecs[worker].template.metadata.annotations[kueue.x-k8s.io/"
	layered := func(text string, more ...string) []Request {
		return []Request{asking("worker", 8, append([]string{topologyLayers, text}, more...)...)}
	}
	for want, requests := range map[string][]Request{
		at + `podset-group-name] is "ring", which 1 replica types have: a group is of exactly two`: {inRack("worker", 3)},
		`which 3 replica types have`: {inRack("worker", 3), inRack("a", 1), inRack("b", 1)},
		`but worker has 3 replicas and a has 2: one of the two types must have exactly one`:                             {inRack("worker", 3), inRack("a", 2)},
		`but worker and a do not ask for the same: give both the same value of kueue.x-k8s.io/podset-required-topology`: {inRack("worker", 3), asking("a", 1, topologyGroup, "ring", topologyPreferred, "rack")},
		`but worker and b do not ask for the same`:                                                                      {asking("worker", 3, topologyGroup, "ring"), asking("b", 1, topologyGroup, "ring")},
		`but a has the annotation kueue.x-k8s.io/podset-slice-size too: a group has no slices`:                          {inRack("worker", 3), inRack("a", 1, topologySliceSize, "2")},
		`is "7", which is a number or empty: write a name`:                                                              {asking("worker", 3, topologyGroup, "7"), asking("a", 1, topologyGroup, "7")},
		`is "", which is a number or empty`:                                                                             {asking("worker", 3, topologyGroup, "")},
		at + `podset-slice-required-topology-constraints] is "no", but must be a JSON list`:                             layered("no"),
		`but must be a JSON list of one to three layers`:                                                                layered("[]"),
		`but layer 0 must have a topology, and a size of at least 1`:                                                    layered(`[{"topology": "rack"}]`),
		`but the size of layer 1, 3, must divide that of the layer before, 4`:                                           layered(`[{"topology": "rack", "size": 4}, {"topology": "host", "size": 3}]`),
		`but layer 1 has the topology rack of an earlier one`:                                                           layered(`[{"topology": "rack", "size": 4}, {"topology": "rack", "size": 2}]`),
		`beside kueue.x-k8s.io/podset-slice-size: remove one of the two`:                                                layered(`[{"topology": "rack", "size": 4}]`, topologySliceSize, "2"),
	} {
		require.Contains(t, Mistake(requests), want)
		require.NotPanics(t, func() { topologiesOf(requests...) })
	}
	require.Empty(t, Mistake([]Request{inRack("master", 1), inRack("worker", 3), asking("store", 1)}))
}

// A Kueue before 0.19 drops layers. A Workload without them that was made again for their sake would be made again for ever.
func TestAWorkloadWhoseLayersAreDroppedIsNotMadeAgain(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	of := func(annotations ...string) *unstructured.Unstructured {
		return Workload(job, v1beta1.KueueScheduler{QueueName: "team"}, []Request{asking("worker", 8, annotations...)}, nil)
	}
	want := of(topologyLayers, `[{"topology": "rack", "size": 4}]`)
	require.True(t, Same(of(), want))
	require.True(t, Same(want, want))
	require.False(t, Same(of(topologyLayers, `[{"topology": "rack", "size": 2}]`), want))
	require.False(t, Same(want, of()))
}
