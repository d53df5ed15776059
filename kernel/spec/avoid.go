package spec

import (
	"time"

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
	// Counts says that failures on a node count, Loses that lost nodes are avoided while they are lost.
	Counts, Loses bool
	After, AtMost int
	Within        time.Duration
}

// Avoidance is the policy of a job.
func Avoidance(job *v1beta1.GenericJob) AvoidPolicy {
	p := AvoidPolicy{Loses: job.Spec.NodeLost != nil, After: int(avoidAfter), AtMost: int(avoidAtMost), Within: avoidWithin}
	a := job.Spec.AvoidNodes
	if a == nil {
		return p
	}
	p.Counts, p.Loses = true, true
	p.After, p.AtMost = int(ptr.Deref(a.After, avoidAfter)), int(ptr.Deref(a.AtMost, avoidAtMost))
	if within, err := time.ParseDuration(string(a.Within)); err == nil && within > 0 { // the CRD takes no other
		p.Within = within
	}
	return p
}

// Avoids reports whether so many failures that count speak against a node that it is avoided.
func (p AvoidPolicy) Avoids(n *v1beta1.NodeFailures) bool { return p.Counts && len(n.Times) >= p.After }

// Until is when too few of them count any more. The node must be one that is avoided.
func (p AvoidPolicy) Until(n *v1beta1.NodeFailures) metav1.Time {
	return metav1.NewTime(n.Times[len(n.Times)-p.After].Add(p.Within))
}
