package queue

import (
	"strconv"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Annotations of a pod template by which users of Kueue say how close together pods are placed.
const (
	topologyRequired      = "kueue.x-k8s.io/podset-required-topology"
	topologyPreferred     = "kueue.x-k8s.io/podset-preferred-topology"
	topologyUnconstrained = "kueue.x-k8s.io/podset-unconstrained-topology"
	topologySlice         = "kueue.x-k8s.io/podset-slice-required-topology"
	topologySliceSize     = "kueue.x-k8s.io/podset-slice-size"
)

// topologyRequest is what a template's annotations ask of topology-aware scheduling for so many pods. Kueue finds their ranks by a
// label, and places neighbours near each other; where finished ranks have left gaps, it places them in any order.
func topologyRequest(annotations map[string]string, count int) map[string]any {
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
	// Slices are all of one size. What finished replicas have left may not be.
	if size, err := strconv.Atoi(annotations[topologySliceSize]); err == nil && size > 0 && count%size == 0 && annotations[topologySlice] != "" {
		request["podSetSliceRequiredTopology"] = annotations[topologySlice]
		request["podSetSliceSize"] = int64(size)
	}
	return request
}

// isFree says whether a request leaves it to Kueue how close together the pods are.
func isFree(request map[string]any) bool {
	return request["required"] == nil && request["preferred"] == nil && request["unconstrained"] == nil
}
