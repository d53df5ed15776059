package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Nodes that the job's new pods avoid. Of an incident only the first failure counts, for the node on which it came. Which failure was first may become
// known late. Then it counts for the node of that one, and no longer for the other.
//
// Of the functions here, methods of planning write into the draft. All others only read.

// failureNode is the node for which the first failure of an incident counts, as far as the ends of this reconcile tell.
type failureNode struct {
	isNew   bool               // the incident begins in this reconcile
	failure ledger.NodeFailure // zero if the first failure counts for no node
}

// Avoiding returns the job with the operator's default of avoidNodes, if it has no avoidNodes of its own.
func (s Settings) Avoiding(job *v1beta1.GenericJob) *v1beta1.GenericJob {
	if s.AvoidNodes == nil || job.Spec.AvoidNodes != nil {
		return job
	}
	with := *job
	with.Spec.AvoidNodes = s.AvoidNodes
	return &with
}

// maxNodeMessage is how many bytes a message about what happened on a node may have.
const maxNodeMessage = 300

// nodeFailure returns what speaks against a node, with a message that fits.
func nodeFailure(node string, reason v1beta1.AvoidReason, message string) ledger.NodeFailure {
	return ledger.NodeFailure{Node: node, Reason: reason, Message: text.Cut(message, maxNodeMessage)}
}

// countNodeFailures writes into the draft what the recorded ends say against nodes, and which nodes new pods avoid from now on. A job that is over
// creates no pods, so it avoids no further nodes.
func (p *planning) countNodeFailures() (counted failureNode) {
	if was := &p.Job.Status; was.CompletionTime != nil || !spec.Avoidance(p.Job).AvoidsLost && len(was.AvoidedNodes)+len(was.NodeFailures) == 0 {
		return counted
	}
	p.noteNodes()
	if p.recorded.waitsFor == 0 {
		for _, node := range rejections(&p.recorded, p.draft.RestartsTogether()) {
			p.draft.AddNodeFailure(node, p.Now)
		}
		counted = p.addFirstFailure()
	}
	if !p.verdict.IsOver() {
		p.avoidNodes()
	}
	return counted
}

// avoidNodes writes into the draft which nodes new pods avoid.
func (p *planning) avoidNodes() { p.draft.Avoid(p.Now, p.NodeCount, p.NodeProblems) }

// noteNodes notes which nodes are lost, and which are back. A node is lost if it is silent, and the operator has given up a pod on it.
func (p *planning) noteNodes() {
	if len(p.Nodes) == 0 {
		return
	}
	for name, node := range p.Nodes {
		if node.Answers && !node.Assumed {
			p.draft.RemoveLostNode(name)
		}
	}
	for i := range p.replicas.Types {
		t := &p.replicas.Types[i]
		for rank, pod := range t.Pods {
			if pod == nil {
				continue
			}
			if since := p.Nodes[pod.Spec.NodeName].SilentSince; !since.IsZero() && p.replicas.IsOverdue(pod) {
				p.draft.AddLostNode(nodeFailure(pod.Spec.NodeName, v1beta1.AvoidLost, status.OnLostNode(t.Type, rank)), since, p.Now)
			}
		}
	}
}

// rejections returns the nodes that have rejected pods for reasons that lie in the node, each once. It leaves out ends that this reconcile does not
// answer, because the next one sees them again. With restartScope Job (whole) the restart of an auxiliary replica answers no other end.
func rejections(o *outcomes, whole bool) (list []ledger.NodeFailure) {
	answered, all, known := map[types.UID]bool{}, false, map[string]bool{} // pods whose ends are answered, or all are; nodes of list
	for i := range o.allowedRestarts {
		e := &o.allowedRestarts[i]
		answered[e.pod.UID] = true
		all = all || whole && !e.account.Auxiliary
	}
	for _, e := range o.ended {
		node := e.pod.Spec.NodeName
		if (all || answered[e.pod.UID]) && !known[node] && e.pod.WasRejectedByNode() {
			known[node], list = true, append(list, nodeFailure(node, v1beta1.AvoidRejected, e.why))
		}
	}
	return list
}

// addFirstFailure counts the first failure of a new incident for its node.
func (p *planning) addFirstFailure() (counted failureNode) {
	if !spec.Avoidance(p.Job).Counts {
		return counted
	}
	first := firstOf(p.recorded.ended)
	if first == nil || !p.incident.IsNew() {
		return counted
	}
	counted.isNew = true
	if record := first.pod.Failure(); isFailure(first) && record.Follows == "" {
		counted.failure = nodeFailure(record.Node, v1beta1.AvoidFailed, first.pod.FailureSentence())
		p.draft.AddNodeFailure(counted.failure, p.Now)
		record = first.pod.FailureWithCause()
		p.avoidAtOnce(first.account.Type, &record)
	}
	return counted
}

// avoidAtOnce notes that this one failure is enough to avoid its node, if the rule of failurePolicy that matches it says so (elsewhere). It reports
// whether the rule does. F is the failure that is known to be the first, even if that became known late.
func (p *planning) avoidAtOnce(replicaType string, f *v1beta1.ReplicaFailure) bool {
	if p.Job.Spec.FailurePolicy == nil {
		return false
	}
	rule, _ := FailureRule(p.Job.Spec.FailurePolicy.Rules, replicaType, f)
	if rule == nil || !rule.Elsewhere {
		return false
	}
	p.draft.AvoidAtOnce(f.Node)
	return true
}

// correctNodeFailures corrects for which node the first failure counts, if another failure was first than was known. Then it replaces pods on
// avoided nodes, if all replicas wait at the barrier to begin again.
func (p *planning) correctNodeFailures() {
	if p.Job.Status.CompletionTime != nil || !spec.Avoidance(p.Job).Counts {
		return
	}
	before, now := p.failureNode.corrected(p.Job.Status.FirstFailure, p.first, p.recorded.ended)
	if now != before {
		p.draft.RemoveNodeFailure(before)
		p.draft.AddNodeFailure(now, p.Now)
	}
	atOnce := now.Node != "" && p.avoidAtOnce(typeOf(p.replicas, p.first.Pod), &p.first.ReplicaFailure)
	if (now != before || atOnce) && !p.verdict.IsOver() {
		p.avoidNodes()
	}
	if p.verdict.Course == verdict.Run && !p.draft.BarrierIsOpen() {
		p.replacePodsOnBadNodes()
	}
}

// typeOf returns the type of the replica that has the pod of this name; "" if none has.
func typeOf(replicas *roster.Roster, pod string) string {
	for t, rank := range replicas.Replicas() {
		if p := t.Pods[rank]; p != nil && p.Name == pod {
			return t.Type
		}
	}
	return ""
}

// corrected returns the failure that was counted for its node, and the one that counts by what is known now. A stored first failure may have been a
// disruption, which was not counted. RemoveNodeFailure does not find such a one.
func (s failureNode) corrected(stored, first *v1beta1.FirstFailure, ended []*end) (before, now ledger.NodeFailure) {
	isOther := first != nil && (stored == nil || first.Pod != stored.Pod || !first.Time.Equal(stored.Time))
	switch {
	case s.isNew && first != nil:
		return s.failure, countedFor(first, ended)
	case isOther:
		return countedFor(stored, nil), countedFor(first, ended)
	default:
		return before, now
	}
}

// countedFor returns what a first failure counts for; zero if it follows from the end of another replica, or is a disruption among some ends.
func countedFor(f *v1beta1.FirstFailure, ended []*end) (counted ledger.NodeFailure) {
	if f == nil || f.Follows != "" || slices.ContainsFunc(ended, func(e *end) bool { return e.pod.Name == f.Pod && !isFailure(e) }) {
		return counted
	}
	return nodeFailure(f.Node, v1beta1.AvoidFailed, f.Why)
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

// LostInterval is how often the operator looks whether a lost node that a job avoids is back.
const LostInterval = time.Minute

// avoidsInVain reports whether a pod finds no node, and avoids a node that need not be avoided any more. Until is after what time the first of the
// present nodes may be avoided no longer; 0 if no time is known.
func (a *acting) avoidsInVain(pod *corev1.Pod) (inVain bool, until time.Duration) {
	avoids := build.Avoided(pod)
	if len(avoids) == 0 || !podstate.IsUnschedulable(pod) {
		return false, 0
	}
	for _, n := range a.ledger.AvoidedNodes() {
		switch {
		case n.Until == nil:
			until = soonest(until, LostInterval)
		case n.Until.After(a.Now):
			until = soonest(until, n.Until.Sub(a.Now))
		}
	}
	return slices.ContainsFunc(avoids, func(node string) bool { return !a.ledger.Avoids(node) }), until
}

// avoided returns the names of the nodes.
func avoided(list []v1beta1.AvoidedNode) (names []string) {
	for _, n := range list {
		names = append(names, n.Node)
	}
	return names
}
