package ledger

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Nodes that new pods avoid. They are bad, or lost. From the failures that count (node_failures.go), from other problems (node_problems.go), and from
// what is bad already, Avoid finds which nodes are bad. That is stored, so a node stays bad even if another one would deserve its place. A lost node
// is avoided until it answers.

// maxLost is how many lost nodes are avoided at most.
const maxLost = 16

// AddLostNode notes that a node is lost, and since when. New pods avoid it until it answers. If the job has failed there too often, they avoid it
// until these failures have faded. One loss counts once, however long it lasts: its time identifies it. If too many nodes are lost, one that was
// left out stays out.
func (d Draft) AddLostNode(f NodeFailure, since, now time.Time) {
	policy := spec.Avoidance(d.job)
	if !policy.AvoidsLost || f.Node == "" {
		return
	}
	at := metav1.NewTime(since.Truncate(time.Second))
	isKnown := slices.ContainsFunc(d.failuresOn(f.Node).Times, func(t metav1.Time) bool { return t.Equal(&at) })
	if !isKnown && !isFaded(policy, at, now) {
		d.addNodeFailure(f, at)
	}
	staysBad := slices.ContainsFunc(d.bad, func(n v1beta1.AvoidedNode) bool { // a node that is avoided for a condition has no Until
		return n.Node == f.Node && (n.Until == nil || n.Until.After(now))
	})
	if staysBad || has(d.lost, f.Node) || len(d.lost) >= maxLost && !at.After(d.lost[0].Since.Time) {
		return
	}
	d.lost = append(slices.Clone(d.lost), v1beta1.AvoidedNode{
		Node: f.Node, Reason: v1beta1.AvoidLost, Message: f.Message, Since: metav1.NewTime(now.Truncate(time.Second)),
	})
	d.lost = d.lost[max(0, len(d.lost)-maxLost):]
}

// RemoveLostNode notes that a lost node answers again.
func (d Draft) RemoveLostNode(node string) {
	d.lost = slices.DeleteFunc(slices.Clone(d.lost), func(n v1beta1.AvoidedNode) bool { return n.Node == node })
}

// Avoid finds which nodes are avoided, for failures of the job and for other problems. NodeCount is how many nodes the cluster has; 0 if that is not
// known. At least one of them is not avoided.
func (d Draft) Avoid(now time.Time, nodeCount int, problems []NodeProblem) {
	policy := spec.Avoidance(d.job)
	if !policy.AvoidsLost {
		d.lost = nil
	}
	d.forgetFaded(policy, now)
	most := policy.AtMost
	if nodeCount > 0 {
		most = min(most, max(0, nodeCount-1-len(d.lost)))
	}
	d.bad = d.chooseAvoided(d.nodesToAvoid(policy, problems, now), most, now)
	d.lost = slices.DeleteFunc(slices.Clone(d.lost), func(n v1beta1.AvoidedNode) bool { return d.IsBad(n.Node) })
}

// forgetFaded forgets failures that have faded. It also forgets failures so far in the future that no clock of an operator can have recorded them.
func (d Draft) forgetFaded(policy spec.AvoidPolicy, now time.Time) {
	var left []v1beta1.NodeFailures
	for _, n := range d.nodeFailures {
		n.Times = slices.DeleteFunc(slices.Clone(n.Times), func(t metav1.Time) bool { return isFaded(policy, t, now) })
		if n.Enough != nil && isFaded(policy, *n.Enough, now) {
			n.Enough = nil
		}
		if len(n.Times) > 0 && policy.Counts {
			left = append(left, n)
		}
	}
	d.nodeFailures = left
}

// isFaded reports whether what happened at a time does not count any more.
func isFaded(policy spec.AvoidPolicy, at metav1.Time, now time.Time) bool {
	return now.Sub(at.Time).Abs() >= policy.Within
}

// AvoidedNodes returns the nodes that new pods avoid, each once: first those with failures or other problems, then lost ones. A node may be both in
// a job that ends, for which Avoid is not called.
func (l *Ledger) AvoidedNodes() []v1beta1.AvoidedNode {
	lost := slices.DeleteFunc(slices.Clone(l.lost), func(n v1beta1.AvoidedNode) bool { return l.IsBad(n.Node) })
	return slices.Concat(l.bad, lost)
}

// BadNodes returns the names of nodes that new pods avoid for failures and other problems.
func (l *Ledger) BadNodes() (names []string) {
	for _, n := range l.bad {
		names = append(names, n.Node)
	}
	return names
}

// IsBad reports whether new pods avoid a node for failures or other problems.
func (l *Ledger) IsBad(node string) bool { return has(l.bad, node) }

// Avoids reports whether new pods avoid a node.
func (l *Ledger) Avoids(node string) bool { return has(l.bad, node) || has(l.lost, node) }

func has(list []v1beta1.AvoidedNode, node string) bool {
	return slices.ContainsFunc(list, func(n v1beta1.AvoidedNode) bool { return n.Node == node })
}

// nodes is what the ledger knows of nodes.
type nodes struct {
	nodeFailures []v1beta1.NodeFailures
	bad, lost    []v1beta1.AvoidedNode
}

// nodesOf reads the nodes from a status. A node without Until is a lost one, unless it is avoided for a condition. It leaves out what somebody has
// written without a time: the apiserver would refuse to store that again.
func nodesOf(s *v1beta1.GenericJobStatus) (n nodes) {
	for _, f := range s.NodeFailures {
		if slices.ContainsFunc(f.Times, isZero) {
			f.Times = slices.DeleteFunc(slices.Clone(f.Times), isZero)
		}
		f.Enough = notZero(f.Enough)
		if f.Earlier != nil {
			f.Earlier = &v1beta1.EarlierFailure{Reason: f.Earlier.Reason, Message: f.Earlier.Message, Enough: notZero(f.Earlier.Enough)}
		}
		if len(f.Times) > 0 {
			n.nodeFailures = append(n.nodeFailures, f)
		}
	}
	for _, a := range s.AvoidedNodes {
		if a.Since.IsZero() {
			continue
		}
		if a.IsLost() {
			n.lost = append(n.lost, a)
		} else {
			n.bad = append(n.bad, a)
		}
	}
	n.bad, n.lost = n.bad[:min(len(n.bad), maxFailedNodes)], n.lost[max(0, len(n.lost)-maxLost):] // together they are as many as the CRD takes
	return n
}

func isZero(t metav1.Time) bool { return t.IsZero() }

func notZero(t *metav1.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return t
}

// saveNodes writes the nodes into a status.
func (l *Ledger) saveNodes(s *v1beta1.GenericJobStatus) {
	s.NodeFailures, s.AvoidedNodes = l.nodeFailures, l.AvoidedNodes()
}
