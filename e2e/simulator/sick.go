package simulator

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
)

// This file has what speaks against nodes beside what the job has seen: conditions, and what jobs of other users tell.

// sickWith is the condition that the operators were told of.
const sickWith corev1.NodeConditionType = "Sick"

// The ways in which nodes get sick, and in which others tell of nodes.
const (
	noneSick, aIsSick, bIsSickNowAndThen, bothAreSick = 0, 1, 2, 3
	nobodyTells, anotherTenantTells, othersTell       = 0, 1, 2
)

// sickness is which nodes are sick, and who tells of nodes.
type sickness struct{ nodes, others int }

// drawSickness draws nothing: it looks at what the last choice of one in three has left.
func drawSickness(t *Tape) sickness { return sickness{t.spareOf(3, 4), t.spareOf(12, 3)} }

// isSick reports whether a node has the condition. In the calm none has.
func (l *Life) isSick(node string) bool {
	nowAndThen := int(l.now.Sub(start)/(3*time.Minute))%2 == 1
	switch {
	case !l.trouble:
		return false
	case l.sick.nodes == aIsSick:
		return node == "a"
	case l.sick.nodes == bIsSickNowAndThen:
		return node == "b" && nowAndThen
	case l.sick.nodes == bothAreSick:
		return node == "a" || nowAndThen
	default:
		return false
	}
}

// newNodeStore is what an operator knows of nodes when it starts: jobs of other users it has listed.
func (o *operator) newNodeStore() *badnodes.Store {
	return badnodes.NewStore(badnodes.Options{Conditions: []badnodes.Condition{{Type: sickWith, Status: corev1.ConditionTrue}}, AcrossJobs: true})
}

// listOthers lets an operator see the jobs of other users.
func (o *operator) listOthers() {
	for _, job := range o.life.others() {
		o.genericJobs.Jobs.Create(event.CreateEvent{Object: job})
	}
}

// others are the jobs of other users. What that of another namespace has printed, and how its pods were rejected, is nobody else's matter.
func (l *Life) others() []*v1beta1.GenericJob {
	at, before := metav1.NewTime(start), metav1.NewTime(start.Add(-2*time.Hour)) // a loss that is no other failure's
	tell := func(in string, failures ...v1beta1.NodeFailures) *v1beta1.GenericJob {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: "another"}}
		job.Status.NodeFailures = failures
		return job
	}
	slander := []v1beta1.NodeFailures{
		{Node: "a", Reason: v1beta1.AvoidFailed, Times: []metav1.Time{at, at, at}}, {Node: "b", Reason: v1beta1.AvoidRejected, Times: []metav1.Time{at, at}},
	}
	switch l.sick.others {
	case anotherTenantTells:
		return []*v1beta1.GenericJob{tell("another", slander...)}
	case othersTell:
		return []*v1beta1.GenericJob{
			tell("another", append(slander[:1:1], v1beta1.NodeFailures{Node: "b", Reason: v1beta1.AvoidLost, Times: []metav1.Time{before}})...),
			tell(namespace, slander...),
		}
	default:
		return nil
	}
}

// toldBy is how many failures others may tell of a node. Each job that counts has one voice, and code of one speaks against one node.
func (l *Life) toldBy(node string) int {
	if l.sick.others == othersTell && (node == "a" || node == "b") {
		return 1
	}
	return 0
}

// seeNodes lets an operator see the conditions of nodes.
func (o *operator) seeNodes() {
	for _, name := range nodes {
		is := o.life.isSick(name)
		if is == o.sick[name] {
			continue
		}
		o.sick[name] = is
		o.seen++
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		status := corev1.ConditionFalse
		if is {
			status = corev1.ConditionTrue
		}
		node.Status.Conditions = []corev1.NodeCondition{{Type: sickWith, Status: status, LastTransitionTime: metav1.NewTime(o.life.now)}}
		o.nodeStore.SeeNode(node)
	}
}

// knows reports whether the operator of the reconcile that writes knew of the present conditions when that began.
func (t *truth) knows() (o *operator, ok bool) {
	w := t.life.writer
	if w == nil { // somebody else writes
		return nil, false
	}
	return w.operator, w.seen == w.operator.seen
}

// keepsOffSick checks that a new pod keeps off a sick node, if its job avoids no other.
func (t *truth) keepsOffSick(p *corev1.Pod, job *v1beta1.GenericJob, rec *record) {
	o, ok := t.knows()
	if !ok || job.Spec.AvoidNodes == nil || len(job.Status.AvoidedNodes) > 0 || t.overtaken(job.ResourceVersion, rec.writer) {
		return
	}
	for _, node := range nodes {
		if o.sick[node] && allows(p, node) {
			t.violated("a sick node gets a pod", "%s may go to node %s", p.Name, node)
		}
	}
}

// faultsWritten checks that each node is avoided for something that happened, and that counts for this job.
func (t *truth) faultsWritten(job *v1beta1.GenericJob) {
	s, policy := &job.Status, job.Spec.AvoidNodes
	o, ok := t.knows()
	for _, n := range s.AvoidedNodes {
		own := speaking(job, n.Node)
		switch needs := int(leastFailures(policy)); {
		case n.Reason == v1beta1.AvoidCondition:
			if ok && !o.sick[n.Node] && job.DeletionTimestamp == nil { // of a job that is being deleted nothing is planned, so its status keeps what it has
				t.violated("a node is avoided for nothing", "node %s has no condition any more", n.Node)
			}
		case n.Until == nil || own >= needs || own+t.life.toldBy(n.Node) >= needs:
		case t.life.sick.others != nobodyTells:
			t.violated("another tenant's logs avoid nothing of mine", "node %s is avoided, and %d failures of the job's own speak against it", n.Node, own)
		default:
			t.violated("a node is avoided for nothing", "%d failures of the job's own speak against node %s, and %d of others", own, n.Node, t.life.toldBy(n.Node))
		}
	}
}
