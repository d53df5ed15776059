package ledger

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Nodes on which the job has failed. A failure counts for some time only (within); after that it has faded. From the failures that count, and from
// what is avoided already, Avoid finds which nodes new pods avoid. That is stored, so a node stays avoided even if another one would deserve its
// place.

const (
	// maxFailedNodes is for how many nodes the CRD allows failures. maxLost is how many lost nodes are avoided at most.
	maxFailedNodes, maxLost = 16, 16
	// maxTimes is how many failures of one node are kept.
	maxTimes = 10
)

// NodeFailure is what speaks against a node. The CRD bounds its Message.
type NodeFailure struct {
	Node    string
	Reason  v1beta1.AvoidReason
	Message string
}

// AddNodeFailure notes something that speaks against a node. If there are too many nodes, it forgets the one whose last failure is the oldest.
func (d Draft) AddNodeFailure(f NodeFailure, now time.Time) {
	d.addNodeFailure(f, metav1.NewTime(now.Truncate(time.Second)))
}

// addNodeFailure notes something that happened at a time. The node is told of by what happened last, which may be known already.
func (d Draft) addNodeFailure(f NodeFailure, at metav1.Time) {
	if !spec.Avoidance(d.job).Counts || f.Node == "" {
		return
	}
	n := v1beta1.NodeFailures{Node: f.Node}
	if i := d.failuresIndex(f.Node); i >= 0 {
		n = d.nodeFailures[i]
	}
	d.nodeFailures = d.others(f.Node)
	if !at.Time.Before(last(n)) {
		for i := range d.nodeFailures {
			if f.Reason == v1beta1.AvoidFailed { // RemoveNodeFailure takes back only the last failure, so the others need no earlier one
				d.nodeFailures[i].Earlier = nil
			}
		}
		if n.Earlier = nil; len(n.Times) > 0 && f.Reason == v1beta1.AvoidFailed {
			n.Earlier = &v1beta1.EarlierFailure{Reason: n.Reason, Message: n.Message, Enough: n.Enough}
		}
		n.Reason, n.Message = f.Reason, f.Message
	}
	n.Times = append(slices.Clone(n.Times), at)
	slices.SortFunc(n.Times, func(a, b metav1.Time) int { return a.Compare(b.Time) })
	n.Times = n.Times[max(0, len(n.Times)-maxTimes):]
	d.nodeFailures = append(d.nodeFailures, n)
	slices.SortFunc(d.nodeFailures, func(a, b v1beta1.NodeFailures) int {
		return cmp.Or(last(a).Compare(last(b)), cmp.Compare(a.Node, b.Node))
	})
	if len(d.nodeFailures) > maxFailedNodes {
		i := slices.IndexFunc(d.nodeFailures, func(n v1beta1.NodeFailures) bool { return !d.IsBad(n.Node) })
		d.nodeFailures = slices.Delete(d.nodeFailures, max(0, i), max(0, i)+1)
	}
}

// RemoveNodeFailure takes back the last failure on a node, because another failure came first. The node is then told of by what happened before.
// RemoveNodeFailure does nothing if the node is not told of by this failure: that was never counted, or something else has happened since.
func (d Draft) RemoveNodeFailure(f NodeFailure) {
	i := d.failuresIndex(f.Node)
	if i < 0 || d.nodeFailures[i].Reason != f.Reason || d.nodeFailures[i].Message != f.Message {
		return
	}
	n := d.nodeFailures[i]
	at := last(n)
	d.nodeFailures = d.others(f.Node)
	if n.Times = n.Times[:len(n.Times)-1]; len(n.Times) > 0 {
		n.Message = "" // an earlier version of the operator has not kept what happened before
		if n.Enough.Equal(&metav1.Time{Time: at}) {
			n.Enough = nil
		}
		if e := n.Earlier; e != nil {
			n.Reason, n.Message, n.Enough, n.Earlier = e.Reason, e.Message, e.Enough, nil
		}
		d.nodeFailures = slices.Insert(d.nodeFailures, i, n)
	}
}

// AvoidAtOnce notes that the last failure of a node is enough by itself to avoid the node.
func (d Draft) AvoidAtOnce(node string) {
	if i := d.failuresIndex(node); i >= 0 {
		d.nodeFailures = slices.Clone(d.nodeFailures)
		d.nodeFailures[i].Enough = new(metav1.NewTime(last(d.nodeFailures[i])))
	}
}

// failuresIndex returns the index of a node in nodeFailures; -1 if it has no failures.
func (l *Ledger) failuresIndex(node string) int {
	return slices.IndexFunc(l.nodeFailures, func(n v1beta1.NodeFailures) bool { return n.Node == node })
}

// others returns the failures of all nodes but one.
func (l *Ledger) others(node string) []v1beta1.NodeFailures {
	return slices.DeleteFunc(slices.Clone(l.nodeFailures), func(n v1beta1.NodeFailures) bool { return n.Node == node })
}

// last returns when the last failure of a node was recorded.
func last(n v1beta1.NodeFailures) time.Time {
	if len(n.Times) == 0 {
		return time.Time{}
	}
	return n.Times[len(n.Times)-1].Time
}

// AddLostNode notes that a node is lost, and since when. New pods avoid it until it answers. If the job has failed there too often, they avoid it
// until these failures have faded. One loss counts once, however long it lasts: its time identifies it. If too many nodes are lost, one that was
// left out stays out.
func (d Draft) AddLostNode(f NodeFailure, since, now time.Time) {
	policy := spec.Avoidance(d.job)
	if !policy.AvoidsLost || f.Node == "" {
		return
	}
	at := metav1.NewTime(since.Truncate(time.Second))
	if i := d.failuresIndex(f.Node); !isFaded(policy, at, now) && (i < 0 || !slices.ContainsFunc(d.nodeFailures[i].Times, func(t metav1.Time) bool { return t.Equal(&at) })) {
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

// Avoid finds which nodes are avoided, for failures of the job and for other problems. There is how many nodes the cluster has; 0 if that is not
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
