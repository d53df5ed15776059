package simulator

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// This file has what becomes of a node that is lost, and of its pods. Kubernetes deletes them when they do not tolerate that any longer.

const (
	flapTime = 8 * time.Second  // for which a node is lost that flaps
	wakeTime = 10 * time.Second // for which the kubelet of a node that is back says that it is not Ready
)

// look is what a reconcile has seen of a node that was not Ready.
type look struct {
	at    time.Time // by the operator's clock, which may be set meanwhile; the time that it decides by is no later
	since time.Time // since when the node was silent; zero if its kubelet spoke
}

// loseNodes has nodes go, and come back.
func (l *Life) loseNodes() {
	t := l.tape
	for _, node := range nodes {
		if l.flaps[node] && l.now.Sub(l.lostAt[node]) >= flapTime {
			l.comeBack(node)
		}
	}
	if !t.ChanceIf(len(l.nodesInUse()) > 0, 120) {
		return
	}
	flaps := l.tolerates > 0 && t.spare(120, 2)
	node := nodes[t.choose(len(nodes), l.nodesInUse()...)]
	if l.lost[node] {
		l.comeBack(node)
		return
	}
	l.say("node %s: lost, flaps %v", node, flaps)
	l.losses[node]++
	l.lost[node], l.flaps[node], l.lostAt[node] = true, flaps, l.stamp().Time
	delete(l.wakes, node)
	l.silence(node)
	l.takeReadyBack(node)
}

// comeBack has a node answer again. Its kubelet may say at first that it is not Ready.
func (l *Life) comeBack(node string) {
	l.say("node %s: is back", node)
	l.lost[node], l.flaps[node] = false, false
	if l.tolerates > 0 {
		l.wakes[node] = l.now.Add(wakeTime)
	}
	l.giveReadyBack(node)
}

// addToleration has a new pod wait for a lost node, as the apiserver does, if the pod does not say so itself.
func (l *Life) addToleration(p *corev1.Pod) {
	if _, says := tolerates(p); !says && l.tolerates > 0 {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{
			Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &l.tolerates,
		})
	}
}

// tolerates is how long a pod waits for a lost node, and whether it says so.
func tolerates(p *corev1.Pod) (time.Duration, bool) {
	for _, t := range p.Spec.Tolerations {
		if t.Key == corev1.TaintNodeUnreachable && t.TolerationSeconds != nil {
			return time.Duration(*t.TolerationSeconds) * time.Second, true
		}
	}
	return 0, false
}

// isOverFor reports whether a pod tolerates the loss of its node no longer, which has been lost since a time.
func isOverFor(p *corev1.Pod, since, now time.Time) bool {
	wait, _ := tolerates(p)
	return !now.Before(since.Add(wait))
}

// lostPod is what the control plane does to a pod of a node that does not answer. A user may do it who does not wait.
func (l *Life) lostPod(p *corev1.Pod) {
	switch {
	case p.DeletionTimestamp == nil && l.tape.Due(12):
		switch {
		case isOverFor(p, l.lostAt[p.Spec.NodeName], l.now):
			l.disrupt(p, "DeletionByTaintManager")
		case l.tape.spare(12, 4):
			l.say("a user deletes %s, whose node is lost", keyOf(p))
			l.delete(p)
		case l.tape.spare(12, 2):
			l.say("somebody taints node %s, which is lost", p.Spec.NodeName)
			l.disrupt(p, "DeletionByTaintManager")
		}
	case p.DeletionTimestamp != nil && l.tape.Chance(20):
		if l.tolerates == 0 || l.tape.spare(20, 4) { // seldom: the pod garbage collector waits until somebody says that the node is gone
			l.collectPod(p)
		}
	}
}

// takeReadyBack is the node controller that tells of the pods of a node that does not answer.
func (l *Life) takeReadyBack(node string) {
	for _, p := range l.api.pods() {
		if !l.rare && l.tolerates == 0 || p.Spec.NodeName != node || over(p) || !isReady(p) {
			continue
		}
		l.show(p, "Ready taken back")
		l.api.edit(keyOf(p), func(o client.Object) {
			p := o.(*corev1.Pod)
			setReady(p, false)
			p.Status.Conditions[len(p.Status.Conditions)-1].LastTransitionTime = l.stamp()
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
		})
	}
}

// isReadyTaken reports whether the node controller has done so, and the kubelet has not told since that the pod is Ready.
func isReadyTaken(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.ContainersReady })
}

// giveReadyBack is the kubelet of a node that answers again.
func (l *Life) giveReadyBack(node string) {
	for _, p := range l.api.pods() {
		if p.Spec.NodeName == node && isReadyTaken(p) {
			l.change(p, func(p *corev1.Pod) {
				without(p, corev1.ContainersReady)
				setReady(p, !over(p))
			})
		}
	}
}

// node looks whether a node answers.
func (r *live) node(ctx context.Context, name string, node *corev1.Node) error {
	return r.operator.look(ctx, "looks at node "+name, func() error {
		l := r.operator.life
		ready := corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue}
		switch {
		case l.lost[name]:
			ready.Status, ready.LastTransitionTime.Time = corev1.ConditionUnknown, l.lostAt[name]
		case l.now.Before(l.wakes[name]):
			ready.Status = corev1.ConditionFalse
		}
		node.Status.Conditions = []corev1.NodeCondition{ready}
		if ready.Status == corev1.ConditionTrue {
			return nil
		}
		w := l.writer
		if w.silent == nil {
			w.silent = map[string]look{}
		}
		w.silent[name] = look{at: l.now.Add(max(r.operator.skew, w.skew)), since: ready.LastTransitionTime.Time}
		return nil
	})
}

// forced checks that a pod is deleted by force only if nobody waits for it any more. Its node must not have answered when the reconcile looked. The
// node may have come back while the call was under way.
func (t *truth) forced(p *corev1.Pod) {
	node, after := p.Spec.NodeName, t.life.forceAfter
	if node == "" || p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds == 0 || over(p) { // its kubelet may have said meanwhile that nothing runs
		return
	}
	seen, looked := t.life.writer.silent[node]
	if why := tooEarly(p, seen, looked, after); why != "" {
		t.violated("two writers to one checkpoint", "%s is deleted by force, and node %s %s", p.Name, node, why)
	}
}

// tooEarly says of a node why its pod should not be deleted by force. It is "" if nobody waits for the pod any more.
func tooEarly(p *corev1.Pod, seen look, looked bool, after time.Duration) string {
	switch {
	case p.DeletionTimestamp == nil:
		return "has not been asked to end it"
	case !looked:
		return "answers"
	case after > 0 && !seen.at.Before(p.DeletionTimestamp.Add(after)):
		return ""
	case seen.since.IsZero():
		return "has a kubelet that speaks"
	case seen.at.Before(p.DeletionTimestamp.Time):
		return "may still give it time to end"
	case after == 0:
		return "may come back"
	case !isOverFor(p, seen.since, seen.at):
		return "is not lost for long enough"
	default:
		return ""
	}
}
