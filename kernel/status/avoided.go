package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
)

// OnLostNode says what a lost node had of the job.
func OnLostNode(replicaType string, rank int) string {
	return fmt.Sprintf("it does not answer, and replica %s-%d was there", replicaType, rank)
}

// avoidedEvents tell which nodes new pods avoid from now on. They also tell which nodes pods do not avoid, though the job has failed there often
// enough.
func (w *writer) avoidedEvents() (list []Event) {
	for _, n := range w.status.AvoidedNodes {
		if !isAvoided(w.Job.Status.AvoidedNodes, n.Node) {
			list = append(list, nodeEvent(v1beta1.ReasonNodeAvoided, n.Node, w.avoids(&n)))
		}
	}
	policy := spec.Avoidance(w.Job)
	if w.Verdict.IsOver() {
		return list
	}
	for i := range w.status.NodeFailures {
		n := &w.status.NodeFailures[i]
		if policy.Avoids(n) && !isAvoided(w.status.AvoidedNodes, n.Node) && !w.hadAsMany(n) {
			e := nodeEvent(v1beta1.ReasonNodeNotAvoided, n.Node, w.avoidsNot(n))
			e.Attempt = len(n.Times)
			list = append(list, e)
		}
	}
	return list
}

// nodeEvent returns a warning about a node.
func nodeEvent(reason, node, message string) Event {
	e := NewEvent(true, reason, message)
	e.Node = node
	return e
}

func isAvoided(list []v1beta1.AvoidedNode, node string) bool {
	return slices.ContainsFunc(list, func(n v1beta1.AvoidedNode) bool { return n.Node == node })
}

// hadAsMany reports whether a node had as many failures before.
func (w *writer) hadAsMany(n *v1beta1.NodeFailures) bool {
	return slices.ContainsFunc(w.Job.Status.NodeFailures, func(had v1beta1.NodeFailures) bool { return had.Node == n.Node && len(had.Times) >= len(n.Times) })
}

// avoids says of a node why new pods avoid it, and until when.
func (w *writer) avoids(n *v1beta1.AvoidedNode) string {
	switch {
	case n.Reason == v1beta1.AvoidCondition:
		return fmt.Sprintf("New pods avoid node %s as long as this lasts: %s.", n.Node, n.Message)
	case n.Until == nil:
		return fmt.Sprintf("New pods avoid node %s until it is Ready again: %s.", n.Node, n.Message)
	}
	return fmt.Sprintf("New pods avoid node %s until %s. It had %s within %s%s; the last: %s.",
		n.Node, text.Time(n.Until.Time), countOf(int(n.Failures)), short(spec.Avoidance(w.Job).Within), w.byRule(n.Node), n.Message)
}

// byRule says that one failure of a node is enough, if a rule has said that.
func (w *writer) byRule(node string) string {
	if slices.ContainsFunc(w.status.NodeFailures, func(n v1beta1.NodeFailures) bool { return n.Node == node && n.Enough != nil }) {
		return ", and a rule of spec.failurePolicy sends replicas elsewhere after one"
	}
	return ""
}

// avoidsNot says of a node why new pods do not avoid it.
func (w *writer) avoidsNot(n *v1beta1.NodeFailures) string {
	why, most := "no other node would be left", spec.Avoidance(w.Job).AtMost
	if len(w.status.AvoidedNodes) >= most {
		why = fmt.Sprintf("the job avoids %s already, and spec.avoidNodes.atMost is %d. If several nodes are bad, raise it; if not, look for a mistake in the code", w.names(), most)
	}
	return fmt.Sprintf("New pods do not avoid node %s, which had %s: %s. The last: %s.", n.Node, countOf(len(n.Times)), why, n.Message)
}

func countOf(failures int) string {
	if failures == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", failures)
}

// short returns a time without the zeros at its end.
func short(d time.Duration) string {
	out := d.String()
	for _, zeros := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(out, zeros) {
			out = out[:len(out)-2]
		}
	}
	return out
}

// names returns those of the nodes that are avoided, as a part of a sentence.
func (w *writer) names() string {
	var names []string
	for _, n := range w.status.AvoidedNodes[:min(len(w.status.AvoidedNodes), maxNamed)] {
		names = append(names, n.Node)
	}
	out := "node " + names[0]
	if len(names) > 1 {
		out = "nodes " + strings.Join(names, ", ")
	}
	if more := len(w.status.AvoidedNodes) - len(names); more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// reportAvoided adds to the message about pods that find no node which nodes they avoid: perhaps only one of these would do.
func (w *writer) reportAvoided(v *view) {
	if len(w.status.AvoidedNodes) == 0 || w.Verdict.IsOver() {
		return
	}
	which := fmt.Sprintf(" (the job avoids %s: status.avoidedNodes says why, and until when. To use all nodes again, set spec.avoidNodes.atMost to 0)", w.names())
	if !spec.Avoidance(w.Job).Counts {
		which = fmt.Sprintf(" (the job avoids %s until Ready again)", w.names())
	}
	if v.waitingReason == corev1.PodReasonUnschedulable {
		v.waiting += which
	}
	if v.problemReason == corev1.PodReasonUnschedulable {
		v.problem += which
	}
}
