package ledger

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// NodeProblem is what speaks against a node beside what the job has seen there itself: a condition of the node, or failures of other jobs.
type NodeProblem struct {
	Node   string
	Reason v1beta1.AvoidReason
	// Message says what happened; the CRD bounds it.
	Message string
	// Times are when other jobs have recorded it, in order. A condition has none: it speaks against its node as long as the caller reports it.
	Times []metav1.Time
}

// SameNodeLoss is the time within which losses of a node count as one. Each job that had pods there records the loss itself, some of them minutes
// later than others.
const SameNodeLoss = time.Hour

// nodesToAvoid returns the nodes that new pods should avoid: those with a condition, and those with enough failures of any jobs.
func (d Draft) nodesToAvoid(policy spec.AvoidPolicy, problems []NodeProblem, now time.Time) (list []v1beta1.AvoidedNode) {
	if !policy.Counts {
		return nil
	}
	for i := range problems {
		if p := &problems[i]; len(p.Times) == 0 && !has(list, p.Node) {
			list = append(list, v1beta1.AvoidedNode{Node: p.Node, Reason: p.Reason, Message: p.Message})
		}
	}
	all := d.failuresOfAllJobs(policy, problems, now)
	for i := range all {
		if n := &all[i]; policy.Avoids(n) && !has(list, n.Node) {
			list = append(list, v1beta1.AvoidedNode{Node: n.Node, Reason: n.Reason, Message: n.Message, Failures: int32(len(n.Times)), Until: new(policy.Until(n))})
		}
	}
	return list
}

// failuresOfAllJobs returns the job's own failures, together with those of other jobs that still count.
func (d Draft) failuresOfAllJobs(policy spec.AvoidPolicy, problems []NodeProblem, now time.Time) []v1beta1.NodeFailures {
	all := slices.Clone(d.nodeFailures)
	for _, p := range problems {
		i := slices.IndexFunc(all, func(n v1beta1.NodeFailures) bool { return n.Node == p.Node })
		n := v1beta1.NodeFailures{Node: p.Node}
		if i >= 0 {
			n = all[i]
		}
		times := p.countedTimes(policy, n.Times, now)
		if len(times) == 0 {
			continue
		}
		if times[len(times)-1].After(last(n)) {
			n.Reason, n.Message = p.Reason, p.Message
		}
		n.Times = lastTimes(times, n.Times...)
		if i < 0 {
			all = append(all, n)
		} else {
			all[i] = n
		}
	}
	return all
}

// countedTimes returns the times of a problem that count in addition to those that are known. A loss counts once, however many jobs have recorded it.
func (p NodeProblem) countedTimes(policy spec.AvoidPolicy, known []metav1.Time, now time.Time) (times []metav1.Time) {
	for _, t := range p.Times {
		same := func(k metav1.Time) bool { return k.Sub(t.Time).Abs() < SameNodeLoss }
		if isFaded(policy, t, now) || p.Reason == v1beta1.AvoidLost && (slices.ContainsFunc(known, same) || slices.ContainsFunc(times, same)) {
			continue
		}
		times = append(times, t)
	}
	return times
}

// chooseAvoided chooses which of the nodes are avoided, most at most. Those that are avoided already go first.
func (d Draft) chooseAvoided(list []v1beta1.AvoidedNode, most int, now time.Time) (kept []v1beta1.AvoidedNode) {
	for _, had := range d.bad {
		i := slices.IndexFunc(list, func(n v1beta1.AvoidedNode) bool { return n.Node == had.Node })
		if i >= 0 && len(kept) < most {
			had.Until, had.Reason, had.Message = list[i].Until, list[i].Reason, list[i].Message
			had.Failures = cmp.Or(had.Failures, list[i].Failures)
			kept = append(kept, had)
		}
	}
	for _, n := range list {
		if len(kept) < most && !has(kept, n.Node) {
			n.Since = metav1.NewTime(now.Truncate(time.Second))
			kept = append(kept, n)
		}
	}
	return kept
}

// OwnBadNodes returns the names of nodes that new pods avoid and would avoid for failures of the job itself alone.
func (l *Ledger) OwnBadNodes() (names []string) {
	policy := spec.Avoidance(l.job)
	for _, n := range l.bad {
		if i := l.failuresIndex(n.Node); i >= 0 && policy.Avoids(&l.nodeFailures[i]) {
			names = append(names, n.Node)
		}
	}
	return names
}
