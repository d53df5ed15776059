package kernel

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// What follows for nodes if it becomes known late which failure of an incident came first. Then it counts for the node of that one, and no longer for
// the other.

// correctNodeFailures corrects for which node the first failure counts, if another failure was first than was known. Then it replaces pods on
// avoided nodes, if all replicas wait at the barrier to begin again.
func (p *planning) correctNodeFailures() {
	if p.Job.Status.CompletionTime != nil || !spec.Avoidance(p.Job).Counts {
		return
	}
	before, now := p.correctedNode()
	if now != before {
		p.draft.RemoveNodeFailure(before)
		p.draft.AddNodeFailure(now, p.Now)
	}
	atOnce := now.Node != "" && p.avoidAtOnce(&p.firstFailure.ReplicaFailure)
	if (now != before || atOnce) && !p.verdict.IsOver() {
		p.avoidNodes()
	}
	if p.verdict.Course == verdict.Run && !p.draft.BarrierIsOpen() {
		p.replacePodsOnBadNodes()
	}
}

// correctedNode returns the failure that was counted for its node, and the one that counts by what is known now. A stored first failure may have been a
// disruption, which was not counted. RemoveNodeFailure does not find such a one.
func (p *planning) correctedNode() (before, now ledger.NodeFailure) {
	stored, first := p.Job.Status.FirstFailure, p.firstFailure
	isOther := first != nil && (stored == nil || first.Pod != stored.Pod || !first.Time.Equal(stored.Time))
	switch {
	case p.failureNode.isNew && first != nil:
		return p.failureNode.failure, p.countedFor(first)
	case isOther && stored != nil && stored.Follows == "":
		return failureAsTold(&stored.ReplicaFailure, stored.Why), p.countedFor(first)
	case isOther:
		return before, p.countedFor(first)
	default:
		return before, now
	}
}

// countedFor returns what a first failure counts for. It is zero if the failure follows from another replica's end, if its end counts for no node, or
// if it is of another incident.
func (p *planning) countedFor(f *v1beta1.FirstFailure) (counted ledger.NodeFailure) {
	isNone := func(e *end) bool { return !p.mayBeOfNode(e) || p.incident.NumberOf(f.Pod) != p.incident.Number() }
	if f.Follows != "" || slices.ContainsFunc(p.recorded.ended, func(e *end) bool { return e.pod.Name == f.Pod && isNone(e) }) {
		return counted
	}
	return p.failureOn(&f.ReplicaFailure, f.Why)
}

// replacePodsOnBadNodes replaces pods on avoided nodes, of replicas that wait at the barrier to begin again in their pods.
func (p *planning) replacePodsOnBadNodes() {
	for i := range p.replicas.Types {
		t := &p.replicas.Types[i]
		if t.Auxiliary || spec.NamesItsNode(&t.Template.Spec) {
			continue
		}
		for rank, pod := range t.Pods {
			if pod == nil || t.HasFinished(rank) || !p.draft.IsBad(pod.Spec.NodeName) {
				continue
			}
			if t.PodAttempt(rank) < p.draft.Attempt(t.Account, rank) && !p.replicas.IsObsolete(t, rank) {
				p.draft.ReplacePod(t.Account, rank)
			}
		}
	}
}
