package ledger

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// What has happened to the job on nodes. A failure counts for some time only (within); after that it has faded.

const (
	// maxFailedNodes is for how many nodes the CRD allows failures.
	maxFailedNodes = 16
	// maxTimes is how many failures of one node are kept.
	maxTimes = 10
)

// NodeFailure is what speaks against a node. The CRD bounds its Message.
type NodeFailure struct {
	Node    string
	Reason  v1beta1.AvoidReason
	Message string
	Second  int64 // in which it came, by Unix; 0 if it is not known: then it counts from when it is noted
}

// time returns when it came, as far as is known by now.
func (f NodeFailure) time(now time.Time) metav1.Time {
	if f.Second == 0 {
		return metav1.NewTime(now.Truncate(time.Second))
	}
	return metav1.Unix(f.Second, 0)
}

// AddNodeFailure notes something that speaks against a node. If there are too many nodes, it forgets the one whose last failure is the oldest.
func (d Draft) AddNodeFailure(f NodeFailure, now time.Time) { d.addNodeFailure(f, f.time(now)) }

// addNodeFailure notes something that happened at a time. The node is told of by what happened last, which may be known already.
func (d Draft) addNodeFailure(f NodeFailure, at metav1.Time) {
	if !spec.Avoidance(d.job).Counts || f.Node == "" {
		return
	}
	n := d.failuresOn(f.Node)
	d.nodeFailures = d.others(f.Node)
	if !at.Time.Before(last(n)) {
		d.describe(&n, f)
	}
	n.Times = lastTimes(n.Times, at)
	d.nodeFailures = append(d.nodeFailures, n)
	slices.SortFunc(d.nodeFailures, func(a, b v1beta1.NodeFailures) int {
		return cmp.Or(last(a).Compare(last(b)), cmp.Compare(a.Node, b.Node))
	})
	if len(d.nodeFailures) > maxFailedNodes {
		i := slices.IndexFunc(d.nodeFailures, func(n v1beta1.NodeFailures) bool { return !d.IsBad(n.Node) })
		d.nodeFailures = slices.Delete(d.nodeFailures, max(0, i), max(0, i)+1)
	}
}

// describe describes a node by what happened there last. RemoveNodeFailure can take back the last failure of code. So only the node of that one keeps
// what described it before.
func (d Draft) describe(n *v1beta1.NodeFailures, f NodeFailure) {
	before := &v1beta1.EarlierFailure{Reason: n.Reason, Message: n.Message, Enough: n.Enough}
	n.Reason, n.Message, n.Earlier = f.Reason, f.Message, nil
	if f.Reason != v1beta1.AvoidFailed {
		return
	}
	for i := range d.nodeFailures {
		d.nodeFailures[i].Earlier = nil
	}
	if len(n.Times) > 0 {
		n.Earlier = before
	}
}

// lastTimes adds times to others, puts them in order, and keeps the last.
func lastTimes(times []metav1.Time, more ...metav1.Time) []metav1.Time {
	times = slices.Concat(times, more)
	slices.SortFunc(times, func(a, b metav1.Time) int { return a.Compare(b.Time) })
	return times[max(0, len(times)-maxTimes):]
}

// RemoveNodeFailure takes back the last failure of code on a node, because another failure came first. If the node is told of by it, it is then told
// of by what happened before. The node may also have been lost since, or have turned pods away: then the second of the failure shows whether it was
// counted. RemoveNodeFailure does nothing if it was not.
func (d Draft) RemoveNodeFailure(f NodeFailure) {
	i := d.failuresIndex(f.Node)
	if i < 0 {
		return
	}
	n := d.nodeFailures[i]
	told := n.Reason == f.Reason && n.Message == f.Message
	at := timeIndex(n, f)
	switch {
	case !told && (n.Reason == f.Reason || at < 0):
		return
	case at < 0: // it was noted at another time: the clock of the node was wrong, or an earlier version of the operator has noted it
		at = len(n.Times) - 1
	}
	if n.Enough.Equal(&n.Times[at]) {
		n.Enough = nil
	}
	d.nodeFailures = d.others(f.Node)
	if n.Times = slices.Delete(slices.Clone(n.Times), at, at+1); len(n.Times) == 0 {
		return
	}
	if told {
		n.Message = "" // an earlier version of the operator has not kept what happened before
		if e := n.Earlier; e != nil {
			n.Reason, n.Message, n.Enough, n.Earlier = e.Reason, e.Message, e.Enough, nil
		}
	}
	d.nodeFailures = slices.Insert(d.nodeFailures, i, n)
}

// AvoidAtOnce notes that a failure of code on a node is enough by itself to avoid the node. Of several such failures the last decides until when.
func (d Draft) AvoidAtOnce(f NodeFailure) {
	if i := d.failuresIndex(f.Node); i >= 0 {
		d.nodeFailures = slices.Clone(d.nodeFailures)
		n := &d.nodeFailures[i]
		at := timeIndex(*n, f)
		if at < 0 {
			at = len(n.Times) - 1
		}
		if n.Enough == nil || n.Enough.Before(&n.Times[at]) {
			n.Enough = new(n.Times[at])
		}
	}
}

// timeIndex returns the index of a failure in the times of its node, by its second; -1 if it is not there.
func timeIndex(n v1beta1.NodeFailures, f NodeFailure) int {
	return slices.IndexFunc(n.Times, func(t metav1.Time) bool { return t.Unix() == f.Second })
}

// failuresIndex returns the index of a node in nodeFailures; -1 if it has no failures.
func (l *Ledger) failuresIndex(node string) int {
	return slices.IndexFunc(l.nodeFailures, func(n v1beta1.NodeFailures) bool { return n.Node == node })
}

// failuresOn returns what has happened on a node.
func (l *Ledger) failuresOn(node string) v1beta1.NodeFailures {
	if i := l.failuresIndex(node); i >= 0 {
		return l.nodeFailures[i]
	}
	return v1beta1.NodeFailures{Node: node}
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
