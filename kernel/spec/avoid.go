package spec

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The defaults of avoidNodes.
const (
	avoidAfter  int32 = 2
	avoidWithin       = 24 * time.Hour
	avoidAtMost int32 = 1
)

// AvoidPolicy says when a job avoids a node.
type AvoidPolicy struct {
	// Counts says that failures on a node count, and other faults.
	Counts bool
	// AvoidsLost says that lost nodes are avoided while they are lost.
	AvoidsLost    bool
	After, AtMost int
	Within        time.Duration
}

// Avoidance returns the policy of a job.
func Avoidance(job *v1beta1.GenericJob) AvoidPolicy {
	p := AvoidPolicy{AvoidsLost: job.Spec.NodeLost != nil, After: int(avoidAfter), AtMost: int(avoidAtMost), Within: avoidWithin}
	a := job.Spec.AvoidNodes
	if a == nil {
		return p
	}
	p.After, p.AtMost = int(ptr.Deref(a.After, avoidAfter)), int(ptr.Deref(a.AtMost, avoidAtMost))
	p.Counts, p.AvoidsLost = p.AtMost > 0, true
	if within, err := time.ParseDuration(string(a.Within)); err == nil && within > 0 { // the CRD takes no other
		p.Within = within
	}
	return p
}

// Avoids reports whether failures that count speak against a node so that it is avoided: enough of them, or one that is enough by itself.
func (p AvoidPolicy) Avoids(n *v1beta1.NodeFailures) bool {
	return p.Counts && (len(n.Times) >= p.After || n.Enough != nil)
}

// lastTime is the last that a status can hold: the year of a time has four digits.
var lastTime = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// Until returns when too few of them count any more. The node must be one that is avoided.
func (p AvoidPolicy) Until(n *v1beta1.NodeFailures) metav1.Time {
	var until time.Time
	if len(n.Times) >= p.After {
		until = n.Times[len(n.Times)-p.After].Add(p.Within)
	}
	if n.Enough != nil && n.Enough.Add(p.Within).After(until) {
		until = n.Enough.Add(p.Within)
	}
	if until.After(lastTime) { // somebody has written the status
		until = lastTime
	}
	return metav1.NewTime(until)
}

// nodeName is the field of a node by which pods avoid it: its label kubernetes.io/hostname may be another.
const nodeName = "metadata.name"

// NamesItsNode reports whether a pod template names the node of its pods.
func NamesItsNode(pod *corev1.PodSpec) bool {
	return pod.NodeName != "" || pod.NodeSelector[corev1.LabelHostname] != ""
}

// ExcludeNodes has a pod avoid nodes, by a required affinity in each of its node selector terms, and reports whether it does. Terms are
// alternatives, so one that lacks it would let the pod go there. A pod whose template names its node is left alone: it can go nowhere else.
func ExcludeNodes(pod *corev1.PodSpec, nodes []string) bool {
	if len(nodes) == 0 || NamesItsNode(pod) {
		return false
	}
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	if pod.Affinity.NodeAffinity == nil {
		pod.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	required := &pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	if *required == nil {
		*required = &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)}
		exclude(&(*required).NodeSelectorTerms[0], nodes)
		return true
	}
	for i := range (*required).NodeSelectorTerms {
		t := &(*required).NodeSelectorTerms[i]
		if len(t.MatchExpressions)+len(t.MatchFields) > 0 { // else it matches no node, and must not begin to match some
			exclude(t, nodes)
		}
	}
	return true
}

// exclude adds to a term that the node is none of these. The apiserver takes one name for each requirement.
func exclude(t *corev1.NodeSelectorTerm, nodes []string) {
	for _, name := range nodes {
		t.MatchFields = append(t.MatchFields, corev1.NodeSelectorRequirement{Key: nodeName, Operator: corev1.NodeSelectorOpNotIn, Values: []string{name}})
	}
}

// AvoidedBy returns the nodes that an object was made to avoid, by its annotations.
func AvoidedBy(annotations map[string]string) []string {
	if text := annotations[v1beta1.AnnotationAvoids]; text != "" {
		return strings.Split(text, ",")
	}
	return nil
}
