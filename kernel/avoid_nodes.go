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
)

// Nodes that the job's new pods avoid. Of an incident only the first failure counts, for the node on which it came. Which failure was first may become
// known late: avoid_nodes_late.go has what follows.

// failureNode is the node for which the first failure of an incident counts, as far as the ends of this reconcile tell.
type failureNode struct {
	isNew   bool               // this reconcile has recorded the first failure
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

// failureOn returns what the failure of code speaks against its node. Why is the sentence about it. The clock of the node tells when it came, and may be
// wrong. A time before the pod was created, or after now, becomes the nearest one that is possible.
func (p *planning) failureOn(f *v1beta1.ReplicaFailure, why string) ledger.NodeFailure {
	counted := failureAsTold(f, why)
	if counted.Second != 0 {
		_, created := lookUpPod(p.replicas, f.Pod)
		counted.Second = min(max(counted.Second, created.Unix()), p.Now.Unix())
	}
	return counted
}

// failureAsTold is failureOn with the time that the node tells. It is for a failure that was noted before: its pod may be gone.
func failureAsTold(f *v1beta1.ReplicaFailure, why string) ledger.NodeFailure {
	counted := nodeFailure(f.Node, v1beta1.AvoidFailed, why)
	if f.Time != nil {
		counted.Second = f.Time.Unix()
	}
	return counted
}

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
		counted = p.addFirstFailures()
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
// answer, because the next one sees them again. If replicas restart together, the restart of an auxiliary one answers no other end.
func rejections(o *outcomes, together bool) (list []ledger.NodeFailure) {
	answered, all, known := map[types.UID]bool{}, false, map[string]bool{} // pods whose ends are answered, or all are; nodes of list
	for i := range o.allowedRestarts {
		e := &o.allowedRestarts[i]
		answered[e.pod.UID] = true
		all = all || together && !e.account.Auxiliary
	}
	for _, e := range o.ended {
		node := e.pod.Spec.NodeName
		if (all || answered[e.pod.UID]) && !known[node] && e.pod.WasRejectedByNode() {
			known[node], list = true, append(list, nodeFailure(node, v1beta1.AvoidRejected, e.why))
		}
	}
	return list
}

// addFirstFailures counts the first failure of each incident for its node, if it is recorded in this reconcile. It returns that of the last one. A
// stored first failure that is no longer the first counts no more.
func (p *planning) addFirstFailures() (last failureNode) {
	if !spec.Avoidance(p.Job).Counts {
		return last
	}
	for number := range p.incident.Number() + 1 {
		n := slices.IndexFunc(p.recorded.ended, func(e *end) bool { return e.pod.Name == p.incident.NewFirst(number) })
		if n < 0 {
			continue
		}
		if stored := p.Job.Status.FirstFailure; number == 0 && stored.Follows == "" {
			p.draft.RemoveNodeFailure(failureAsTold(&stored.ReplicaFailure, stored.Why))
		}
		last = failureNode{isNew: true, failure: p.addFirstFailure(p.recorded.ended[n])}
	}
	return last
}

// addFirstFailure counts the first failure of an incident for its node. No failure counts if the first follows from the end of another replica, or
// belongs to a hang that has counted before. Others may have failed because they lost that replica.
func (p *planning) addFirstFailure(first *end) (counted ledger.NodeFailure) {
	record := first.pod.Failure()
	if record.Follows != "" || !p.mayBeOfNode(first) {
		return counted
	}
	counted = p.failureOn(&record, first.pod.FailureSentence())
	p.draft.AddNodeFailure(counted, p.Now)
	record = first.pod.FailureWithCause()
	p.avoidAtOnce(&record)
	return counted
}

// endsOf returns the ends of this reconcile whose failures belong to the incident with this number.
func (p *planning) endsOf(number int) []*end {
	return slices.DeleteFunc(slices.Clone(p.recorded.ended), func(e *end) bool { return p.incident.NumberOf(e.pod.Name) != number })
}

// mayBeOfNode reports whether an end may count for its node. It does not if it is a disruption, or belongs to a hang of which the status knows the
// first failure.
func (p *planning) mayBeOfNode(e *end) bool { return isFailure(e) && !p.recorded.hang.includes(e) }

// avoidAtOnce notes that this one failure is enough to avoid its node, if the rule of failurePolicy that matches it says so (elsewhere). It reports
// whether the rule does. F is the failure that is known to be the first, even if that became known late.
func (p *planning) avoidAtOnce(f *v1beta1.ReplicaFailure) bool {
	if p.Job.Spec.FailurePolicy == nil {
		return false
	}
	replicaType, _ := lookUpPod(p.replicas, f.Pod)
	rule, _ := FailureRule(p.Job.Spec.FailurePolicy.Rules, replicaType, f)
	if rule == nil || !rule.Elsewhere {
		return false
	}
	p.draft.AvoidAtOnce(p.failureOn(f, ""))
	return true
}

// lookUpPod returns the type of the replica that has a pod, and when the pod was created; "" and zero if it is gone.
func lookUpPod(replicas *roster.Roster, name string) (replicaType string, created time.Time) {
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod != nil && pod.Name == name {
			return t.Type, pod.CreationTimestamp.Time
		}
	}
	return "", time.Time{}
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

// namesOf returns the names of nodes.
func namesOf(list []v1beta1.AvoidedNode) (names []string) {
	for _, n := range list {
		names = append(names, n.Node)
	}
	return names
}
