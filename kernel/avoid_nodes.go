package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

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

// incidentNode is the node for which the first failure of an incident counts, as far as the ends of this reconcile tell.
type incidentNode struct {
	isNew bool   // the incident begins in this reconcile
	node  string // "" if the failure follows from the end of another replica
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
func countNodeFailures(w World, draft ledger.Draft, replicas *roster.Roster, o *outcomes, over bool) (s incidentNode) {
	if was := &w.Job.Status; was.CompletionTime != nil || !spec.Avoidance(w.Job).Loses && len(was.AvoidedNodes)+len(was.NodeFailures) == 0 {
		return s
	}
	noteNodes(w, draft, replicas)
	if o.uncountedFor == 0 {
		for _, node := range rejections(o, draft.RestartsTogether()) {
			draft.AddNodeFailure(node, w.Now)
		}
		s = addFirstFailure(w, draft, replicas, o.ended)
	}
	if !over {
		draft.Avoid(w.Now, w.NodeCount, w.NodeProblems)
	}
	return s
}

// noteNodes notes which nodes are lost, and which are back. A node is lost if it is silent, and the operator has given up a pod on it.
func noteNodes(w World, draft ledger.Draft, replicas *roster.Roster) {
	if len(w.Nodes) == 0 {
		return
	}
	for name, node := range w.Nodes {
		if node.Answers {
			draft.RemoveLostNode(name)
		}
	}
	for i := range replicas.Types {
		for rank, pod := range replicas.Types[i].Pods {
			if pod == nil {
				continue
			}
			if since := w.Nodes[pod.Spec.NodeName].SilentSince; !since.IsZero() && replicas.IsOverdue(pod) {
				draft.AddLostNode(nodeFailure(pod.Spec.NodeName, v1beta1.AvoidLost, status.OnLostNode(replicas.Types[i].Type, rank)), since, w.Now)
			}
		}
	}
}

// rejections returns the nodes that have rejected pods for reasons that lie in the node, each once. It leaves out ends that this reconcile does not
// answer, because the next one sees them again. With restartScope Job (whole) the restart of an auxiliary replica answers no other end.
func rejections(o *outcomes, whole bool) (list []ledger.NodeFailure) {
	for i := range o.ended {
		e := &o.ended[i]
		answered := slices.ContainsFunc(o.allowedRestarts, func(p end) bool { return p.pod.UID == e.pod.UID || whole && !p.account.Auxiliary })
		known := slices.ContainsFunc(list, func(b ledger.NodeFailure) bool { return b.Node == e.pod.Spec.NodeName })
		if answered && !known && e.pod.RejectedByNode() {
			list = append(list, nodeFailure(e.pod.Spec.NodeName, v1beta1.AvoidRejected, e.why))
		}
	}
	return list
}

// addFirstFailure counts the first failure of a new incident for its node.
func addFirstFailure(w World, draft ledger.Draft, replicas *roster.Roster, ended []end) (s incidentNode) {
	if !spec.Avoidance(w.Job).Counts {
		return s
	}
	recorded := failuresOf(ended)
	if len(recorded) == 0 || incidentOf(w, draft.Ledger, replicas, recorded).stored != nil {
		return s
	}
	s.isNew = true
	first := firstOf(ended)
	if record := first.pod.Record(); isFailure(first) && record.Follows == "" {
		s.node = record.Node
		draft.AddNodeFailure(nodeFailure(s.node, v1beta1.AvoidFailed, first.pod.FailureSentence()), w.Now)
		record = first.pod.RecordWithCause()
		avoidAtOnce(w.Job, draft, first.account.Type, &record)
	}
	return s
}

// avoidAtOnce notes that this one failure is enough to avoid its node, if the rule of failurePolicy that matches it says so (elsewhere). It reports
// whether the rule does. F is the failure that is known to be the first, even if that became known late.
func avoidAtOnce(job *v1beta1.GenericJob, draft ledger.Draft, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if job.Spec.FailurePolicy == nil {
		return false
	}
	rule, _ := FailureRule(job.Spec.FailurePolicy.Rules, replicaType, f)
	if rule == nil || !rule.Elsewhere {
		return false
	}
	draft.AvoidAtOnce(f.Node)
	return true
}

// correctNodeFailures corrects for which node the first failure counts, if another failure was first than was known. Then it replaces pods on
// avoided nodes, if all replicas wait at the barrier to begin again.
func correctNodeFailures(w World, draft ledger.Draft, replicas *roster.Roster, s incidentNode, ended []end, first *v1beta1.FirstFailure, v verdict.Verdict) {
	if w.Job.Status.CompletionTime != nil || !spec.Avoidance(w.Job).Counts {
		return
	}
	before, node := s.corrected(w.Job.Status.FirstFailure, first, ended)
	if node != before {
		draft.RemoveNodeFailure(before)
		draft.AddNodeFailure(nodeFailure(node, v1beta1.AvoidFailed, first.Why), w.Now)
	}
	atOnce := node != "" && avoidAtOnce(w.Job, draft, typeOf(replicas, first.Pod), &first.ReplicaFailure)
	if (node != before || atOnce) && !v.Over() {
		draft.Avoid(w.Now, w.NodeCount, w.NodeProblems)
	}
	if v.Course == verdict.Run && !draft.BarrierIsOpen() {
		replacePodsOnBadNodes(draft, replicas)
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

// corrected returns the node for which the first failure was counted, and the node for which it counts by what is known now.
func (s incidentNode) corrected(stored, first *v1beta1.FirstFailure, ended []end) (before, node string) {
	isOther := first != nil && (stored == nil || first.Pod != stored.Pod || !first.Time.Equal(stored.Time))
	switch {
	case s.isNew && first != nil:
		return s.node, suspectOf(first, ended)
	case isOther:
		return suspectOf(stored, nil), suspectOf(first, ended)
	default:
		return "", ""
	}
}

// suspectOf returns the node for which a failure counts; "" if it follows from the end of another replica. It is "" for a disruption, too.
func suspectOf(f *v1beta1.FirstFailure, ended []end) string {
	if f == nil || f.Follows != "" || slices.ContainsFunc(ended, func(e end) bool { return e.pod.Name == f.Pod && !isFailure(&e) }) {
		return ""
	}
	return f.Node
}

// replacePodsOnBadNodes replaces pods on avoided nodes, of replicas that wait at the barrier to begin again in their pods.
func replacePodsOnBadNodes(draft ledger.Draft, replicas *roster.Roster) {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if t.Auxiliary || spec.NamesItsNode(&t.Template.Spec) {
			continue
		}
		for rank, pod := range t.Pods {
			if pod == nil || t.Finished(rank) || !draft.IsBad(pod.Spec.NodeName) {
				continue
			}
			if t.PodAttempt(rank) < draft.Attempt(t.Account, rank) && !replicas.IsObsolete(t, rank) {
				draft.ReplacePod(t.Account, rank)
			}
		}
	}
}

// LostInterval is how often the operator looks whether a lost node that a job avoids is back.
const LostInterval = time.Minute

// avoidsInVain reports whether a pod finds no node, and avoids a node that need not be avoided any more. It calls wakeAfter for the time at which the
// present nodes may be avoided no longer.
func (a *acting) avoidsInVain(pod *corev1.Pod) bool {
	avoids := build.Avoided(pod)
	if len(avoids) == 0 || !podstate.IsUnschedulable(pod) {
		return false
	}
	for _, n := range a.ledger.AvoidedNodes() {
		switch {
		case n.Until == nil:
			a.wakeAfter(LostInterval)
		case n.Until.After(a.Now):
			a.wakeAfter(n.Until.Sub(a.Now))
		}
	}
	return slices.ContainsFunc(avoids, func(node string) bool { return !a.ledger.Avoids(node) })
}

// avoided returns the names of the nodes.
func avoided(list []v1beta1.AvoidedNode) (names []string) {
	for _, n := range list {
		names = append(names, n.Node)
	}
	return names
}
