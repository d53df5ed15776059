package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Nodes that the job's new pods avoid. Of failures that belong together the first counts, for the node on which it came. Which that is may become known
// late: then it counts for that node, and no more for the other.

// suspect is the node that the first failure speaks against of an incident, as far as the ends of this reconcile tell.
type suspect struct {
	isNew bool   // the incident begins in this reconcile
	node  string // "" if the failure follows from another's end
}

// Avoiding is a job with the operator's default of avoidNodes, where it says nothing itself.
func (s Settings) Avoiding(job *v1beta1.GenericJob) *v1beta1.GenericJob {
	if s.AvoidNodes == nil || job.Spec.AvoidNodes != nil {
		return job
	}
	with := *job
	with.Spec.AvoidNodes = s.AvoidNodes
	return &with
}

// maxBlame is how long a text is that says what happened on a node.
const maxBlame = 300

// against is what speaks against a node.
func against(node string, reason v1beta1.AvoidReason, message string) ledger.Blame {
	return ledger.Blame{Node: node, Reason: reason, Message: text.Cut(message, maxBlame)}
}

// blame notes what this reconcile has recorded that speaks against nodes, and finds which nodes are avoided. A job that is over makes no more pods.
func blame(w World, draft ledger.Draft, replicas *roster.Roster, o *outcomes, over bool) (s suspect) {
	if was := &w.Job.Status; was.CompletionTime != nil || !spec.Avoidance(w.Job).Loses && len(was.AvoidedNodes)+len(was.NodeFailures) == 0 {
		return s
	}
	noteNodes(w, draft, replicas)
	if o.uncountedFor == 0 {
		for _, node := range rejecting(o.ended) {
			draft.Blame(node, w.Now)
		}
		s = blameFirst(w, draft, replicas, o.ended)
	}
	if !over {
		draft.Avoid(w.Now, w.NodeCount, w.Faults)
	}
	return s
}

// noteNodes notes which nodes are lost, by pods that nobody waits for any more, and which are back.
func noteNodes(w World, draft ledger.Draft, replicas *roster.Roster) {
	if len(w.Nodes) == 0 {
		return
	}
	for name, node := range w.Nodes {
		if node.Answers {
			draft.Find(name)
		}
	}
	for i := range replicas.Types {
		for rank, pod := range replicas.Types[i].Pods {
			if pod == nil {
				continue
			}
			if since := w.Nodes[pod.Spec.NodeName].SilentSince; !since.IsZero() && replicas.IsOverdue(pod) {
				draft.Lose(against(pod.Spec.NodeName, v1beta1.AvoidLost, status.OnLostNode(replicas.Types[i].Type, rank)), since, w.Now)
			}
		}
	}
}

// rejecting are the nodes that have turned pods away for reasons of their own, each once.
func rejecting(ended []end) (list []ledger.Blame) {
	for i := range ended {
		p := ended[i].pod
		if !p.RejectedByNode() || slices.ContainsFunc(list, func(b ledger.Blame) bool { return b.Node == p.Spec.NodeName }) {
			continue
		}
		list = append(list, against(p.Spec.NodeName, v1beta1.AvoidRejected, ended[i].why))
	}
	return list
}

// blameFirst counts the first failure of a new incident for its node.
func blameFirst(w World, draft ledger.Draft, replicas *roster.Roster, ended []end) (s suspect) {
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
		draft.Blame(against(s.node, v1beta1.AvoidFailed, first.pod.Failure()), w.Now)
		record = first.pod.RecordWithCause()
		leave(w.Job, draft, first.account.Type, &record)
	}
	return s
}

// leave has one failure be enough to avoid its node, if the rule that matches it says so, and reports whether it does. It judges the failure that is
// known to be first, also if that has become known late.
func leave(job *v1beta1.GenericJob, draft ledger.Draft, replicaType string, f *v1beta1.ReplicaFailure) bool {
	if job.Spec.FailurePolicy == nil {
		return false
	}
	rule, _ := FailureRule(job.Spec.FailurePolicy.Rules, replicaType, f)
	if rule == nil || !rule.Elsewhere {
		return false
	}
	draft.Suffice(f.Node)
	return true
}

// reconsider counts the first failure for another node, if another has come first than was known. Then it has replicas go elsewhere that begin again with
// all others in their pods.
func reconsider(w World, draft ledger.Draft, replicas *roster.Roster, s suspect, ended []end, first *v1beta1.FirstFailure, v verdict.Verdict) {
	if w.Job.Status.CompletionTime != nil || !spec.Avoidance(w.Job).Counts {
		return
	}
	before, node := s.corrected(w.Job.Status.FirstFailure, first, ended)
	if node != before {
		draft.Unblame(before)
		draft.Blame(against(node, v1beta1.AvoidFailed, first.Why), w.Now)
	}
	leaves := node != "" && leave(w.Job, draft, typeOf(replicas, first.Pod), &first.ReplicaFailure)
	if (node != before || leaves) && !v.Over() {
		draft.Avoid(w.Now, w.NodeCount, w.Faults)
	}
	if v.Course == verdict.Run && !draft.BarrierIsOpen() {
		moveTogether(draft, replicas)
	}
}

// typeOf is the type of the replica that has a pod; "" if none has.
func typeOf(replicas *roster.Roster, pod string) string {
	for t, rank := range replicas.Replicas() {
		if p := t.Pods[rank]; p != nil && p.Name == pod {
			return t.Type
		}
	}
	return ""
}

// corrected returns the node that the first failure was counted for, and the one that it speaks against by what is known now.
func (s suspect) corrected(stored, first *v1beta1.FirstFailure, ended []end) (before, node string) {
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

// suspectOf is the node that a failure speaks against; "" if it follows from another's end, or is a disruption that is final.
func suspectOf(f *v1beta1.FirstFailure, ended []end) string {
	if f == nil || f.Follows != "" || slices.ContainsFunc(ended, func(e end) bool { return e.pod.Name == f.Pod && !isFailure(&e) }) {
		return ""
	}
	return f.Node
}

// moveTogether replaces the pods on avoided nodes of replicas that wait for each other, to begin again in their pods.
func moveTogether(draft ledger.Draft, replicas *roster.Roster) {
	for i := range replicas.Types {
		t := &replicas.Types[i]
		if t.Auxiliary || spec.NamesItsNode(&t.Template.Spec) {
			continue
		}
		for rank, pod := range t.Pods {
			if pod == nil || t.Finished(rank) || !draft.IsBad(pod.Spec.NodeName) {
				continue
			}
			if t.Made(rank) < draft.Attempt(t.Account, rank) && !replicas.IsObsolete(t, rank) {
				draft.ReplacePod(t.Account, rank)
			}
		}
	}
}

// LostInterval is how often to look whether a lost node is back that a job avoids.
const LostInterval = time.Minute

// avoidsInVain reports whether a pod finds no node, and avoids one that need not be avoided any more. As long as it must be, it has the job looked at
// again when that may be over.
func (a *acting) avoidsInVain(pod *corev1.Pod) bool {
	avoids := build.Avoided(pod)
	if len(avoids) == 0 || !ending.IsUnschedulable(pod) {
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

// avoided are the names of nodes.
func avoided(list []v1beta1.AvoidedNode) (names []string) {
	for _, n := range list {
		names = append(names, n.Node)
	}
	return names
}
