package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// This file has nodes on which code fails, in jobs that avoid such nodes, and what must hold then.

// avoidNodesOf draws whether a job avoids nodes: half do. Some avoid one after the first failure, and some would avoid all.
func avoidNodesOf(t *Tape, n int) *v1beta1.AvoidNodes {
	switch t.spareOf(n, 4) {
	case 2:
		return &v1beta1.AvoidNodes{AtMost: new(int32(2))}
	case 3:
		return &v1beta1.AvoidNodes{After: new(int32(1)), Within: "30m"}
	default:
		return nil
	}
}

// eitherNode is an affinity of two terms, each of which allows one node.
func eitherNode() *corev1.Affinity {
	s := &corev1.NodeSelector{}
	for _, node := range nodes {
		s.NodeSelectorTerms = append(s.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: s}}
}

// allows reports whether the affinity of a pod lets it go to a node.
func allows(p *corev1.Pod, node string) bool {
	a := p.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchFields) > 0 && !slices.ContainsFunc(t.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return (r.Values[0] == node) == (r.Operator == corev1.NodeSelectorOpNotIn)
		})
	})
}

// place puts a pod on a node that its affinity allows. If there is none, the pod says so.
func (l *Life) place(p *corev1.Pod) {
	node := l.pickNode()
	if !allows(p, node) {
		i := slices.IndexFunc(nodes, func(n string) bool { return allows(p, n) })
		if i < 0 {
			l.sayUnschedulable(p)
			return
		}
		node = nodes[i]
	}
	l.change(p, func(p *corev1.Pod) {
		p.Spec.NodeName = node
		without(p, corev1.PodScheduled)
	})
}

func (l *Life) sayUnschedulable(p *corev1.Pod) {
	if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled }) {
		return
	}
	l.say("scheduler: no node takes %s", keyOf(p))
	l.change(p, func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable})
	})
}

// isOnBadNode reports whether code fails where a pod is. Only jobs that avoid nodes meet such nodes, and in the calm there are none.
func (l *Life) isOnBadNode(p *corev1.Pod) bool {
	job, _, _ := l.truth.of(p)
	return l.trouble && job != nil && job.Spec.AvoidNodes != nil && l.bad != "" && p.Spec.NodeName == l.bad
}

// noteOnNode notes that something ended on the node of a pod, and when its code had begun.
func (t *truth) noteOnNode(p *corev1.Pod, uid types.UID) {
	r := t.recordOf(uid)
	if r.onNode == nil {
		r.onNode = map[string][]time.Time{}
	}
	began := p.CreationTimestamp.Time
	if list := p.Status.ContainerStatuses; len(list) > 0 && list[0].State.Running != nil {
		began = list[0].State.Running.StartedAt.Time
	}
	r.onNode[p.Spec.NodeName] = append(r.onNode[p.Spec.NodeName], began)
}

// keepsOff checks that a new pod avoids all nodes that its job avoids.
func (t *truth) keepsOff(p *corev1.Pod, job *v1beta1.GenericJob, rec *record) {
	for _, n := range job.Status.AvoidedNodes {
		if allows(p, n.Node) && !t.overtaken(job.ResourceVersion, rec.writer) {
			t.violated("an avoided node gets a pod", "%s may go to node %s", p.Name, n.Node)
		}
	}
	t.keepsOffSick(p, job, rec)
}

// nodesWritten checks what a status says of nodes.
func (t *truth) nodesWritten(was, is *v1beta1.GenericJob) {
	s, policy := &is.Status, is.Spec.AvoidNodes
	if s.CompletionTime != nil {
		return
	}
	bad, lost := avoidedBy(s)
	switch {
	case policy == nil && bad+len(s.NodeFailures) > 0:
		t.violated("a node is avoided for nothing", "%s does not avoid nodes, and avoids %v", keyOf(is), s.AvoidedNodes)
	case bad > 0 && bad+lost >= len(nodes), policy != nil && bad > int(mostAvoided(policy)):
		t.violated("never all nodes are avoided", "%s avoids %v", keyOf(is), s.AvoidedNodes)
	}
	t.blamesWritten(was, is)
	t.leftWritten(was, is, bad, lost)
	t.faultsWritten(is)
	for _, n := range s.NodeFailures {
		if ends := len(t.recordOf(is.UID).onNode[n.Node]) + t.life.losses[n.Node]; len(n.Times) > ends {
			t.violated("a node is avoided for nothing", "%d failures speak against node %s, and %d ends were there", len(n.Times), n.Node, ends)
		}
		if len(n.Times) >= int(leastFailures(policy)) && bad+lost == 0 {
			t.violated("a bad node is not avoided", "%d failures speak against node %s", len(n.Times), n.Node)
		}
	}
}

// avoidedBy is how many nodes a status avoids for failures, and how many lost ones.
func avoidedBy(s *v1beta1.GenericJobStatus) (bad, lost int) {
	for _, n := range s.AvoidedNodes {
		if n.Until == nil && n.Reason != v1beta1.AvoidCondition {
			lost++
		} else {
			bad++
		}
	}
	return bad, lost
}

// blamesWritten checks that one crash counts for one node.
func (t *truth) blamesWritten(was, is *v1beta1.GenericJob) {
	var gained []blame
	for _, n := range is.Status.NodeFailures {
		var had []metav1.Time
		for _, o := range was.Status.NodeFailures {
			if o.Node == n.Node {
				had = o.Times
			}
		}
		if n.Reason == v1beta1.AvoidFailed && len(n.Times) > len(had) {
			isNew := func(at metav1.Time) bool {
				return !slices.ContainsFunc(had, func(h metav1.Time) bool { return h.Equal(&at) })
			}
			gained = append(gained, blame{n.Node, n.Times[max(0, slices.IndexFunc(n.Times, isNew))].Time})
		}
	}
	slices.SortFunc(gained, func(a, b blame) int { return a.at.Compare(b.at) })
	for i, b := range gained[min(1, len(gained)):] {
		if !t.isOfOtherCrash(is.UID, gained[i].at, b) {
			t.violated("one crash counts for several nodes", "%v, and had been %v", is.Status.NodeFailures, was.Status.NodeFailures)
		}
	}
}

// blame is a failure that counts for a node.
type blame struct {
	node string
	at   time.Time
}

// isOfOtherCrash reports whether a failure came more than a minute after another, or may be of code that began after that. An operator that was down
// sees both at once.
func (t *truth) isOfOtherCrash(job types.UID, before time.Time, b blame) bool {
	return b.at.Sub(before) > time.Minute ||
		slices.ContainsFunc(t.recordOf(job).onNode[b.node], func(began time.Time) bool { return began.After(before) })
}

func mostAvoided(p *v1beta1.AvoidNodes) int32 {
	if p.AtMost == nil {
		return 1
	}
	return *p.AtMost
}

func leastFailures(p *v1beta1.AvoidNodes) int32 {
	if p == nil || p.After == nil {
		return 2
	}
	return *p.After
}

// badNodes are the nodes that lives have on which code fails: mostly one.
var badNodes = []string{"", "a", "b"}
