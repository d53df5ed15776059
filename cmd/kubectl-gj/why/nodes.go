package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
	"github.com/genericjob/genericjob/kernel/spec"
)

// nodes says which nodes new pods of the job avoid, and why. It also names those that they do not avoid, though the job has failed there as often.
// It returns "" if there are none.
func (q question) nodes() string {
	return q.avoided() + q.notAvoided()
}

// avoided says which nodes new pods of the job avoid, and why; "" if they avoid none.
func (q question) avoided() string {
	var list []string
	for _, n := range q.Status().AvoidedNodes {
		until := "until it is Ready again"
		switch {
		case n.Reason == v1beta1.AvoidCondition:
			until = "as long as it has a condition"
		case n.Until != nil:
			until = "until " + n.Until.UTC().Format(time.RFC3339)
		}
		list = append(list, fmt.Sprintf("%s %s (%s: %s)", n.Node, until, n.Reason, n.Message))
	}
	if len(list) == 0 {
		return ""
	}
	return " " + sentence("New pods avoid node "+strings.Join(list, ", node "))
}

// notAvoided says of which nodes the job's policy would have new pods avoid more than it may. Where the policy is the operator's, only its events
// know.
func (q question) notAvoided() (text string) {
	s := q.Status()
	if q.GenericJob == nil || len(s.NodeFailures) == 0 {
		return ""
	}
	policy := spec.Avoidance(q.GenericJob)
	for i := range s.NodeFailures {
		n := q.fresh(&s.NodeFailures[i], policy)
		switch {
		case slices.ContainsFunc(s.AvoidedNodes, func(a v1beta1.AvoidedNode) bool { return a.Node == n.Node }):
		case q.GenericJob.Spec.AvoidNodes == nil:
			text += q.eventAbout(n.Node)
		case policy.Avoids(&n):
			text += fmt.Sprintf(" Node %s had %s and is not avoided: %s", n.Node, plural.Count(len(n.Times), "failure"), q.noMore(policy))
		}
	}
	return text
}

// fresh returns those failures of a node that still count.
func (q question) fresh(n *v1beta1.NodeFailures, policy spec.AvoidPolicy) v1beta1.NodeFailures {
	out := *n
	out.Times = slices.DeleteFunc(slices.Clone(n.Times), func(t metav1.Time) bool { return q.now.Sub(t.Time) >= policy.Within })
	if n.Enough != nil && q.now.Sub(n.Enough.Time) >= policy.Within {
		out.Enough = nil
	}
	return out
}

// noMore says why no more nodes are avoided.
func (q question) noMore(policy spec.AvoidPolicy) string {
	var names []string
	for _, n := range q.Status().AvoidedNodes {
		names = append(names, n.Node)
	}
	if len(names) < policy.AtMost {
		return "no other node would be left."
	}
	return fmt.Sprintf("the job avoids node %s already, and avoidNodes.atMost is %d. If several nodes are bad, raise it; if not, look for a mistake in the code.",
		strings.Join(names, ", node "), policy.AtMost)
}

// eventAbout returns what the last event says of a node that is not avoided; "" if there is none any more.
func (q question) eventAbout(node string) string {
	for _, e := range slices.Backward(q.NotAvoided) {
		if strings.Contains(e.Message, " node "+node+",") {
			return " " + sentence(e.Message)
		}
	}
	return ""
}
