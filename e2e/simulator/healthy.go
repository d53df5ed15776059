package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// What is healthy, and what would lead to the same, depends on the state of a life: this file says how.

const (
	toItsEnd   = 1000 // calls that a reconcile makes in one step when nothing holds it up
	shiftSteps = 4    // for which code runs in a healthy pod
	longStall  = 5    // steps for which a call stays under way
)

// stepTimes are how long a step takes, by what is drawn: much happens within one second.
var stepTimes = []time.Duration{300 * time.Millisecond, 0, 0, time.Second, 2 * time.Second}

// stepTime draws how long a step takes. When nothing happens any more the clock of a healthy life goes on to what is due next.
func (l *Life) stepTime() time.Duration {
	n := l.tape.choose(len(stepTimes), 0, 1, 4)
	if l.tape.schedule != nil && n == 0 {
		return max(stepTimes[0], l.idleTime())
	}
	return stepTimes[n]
}

// idleTime is how long it takes until an operator does something again, if no pod and no cache is about to change.
func (l *Life) idleTime() time.Duration {
	idle := time.Duration(0)
	for _, p := range l.api.pods() {
		if !over(p) {
			return 0
		}
	}
	for _, o := range l.operators {
		if len(o.reconciles) > 0 || len(o.lagging()) > 0 {
			return 0
		}
		for _, at := range o.queue {
			if next := at.Sub(l.now); idle == 0 || next < idle {
				idle = next
			}
		}
	}
	return idle
}

// The outcomes of what code does that runs: see runningPod.
const (
	runsOn    = 0
	overLimit = 47
	disrupted = 48
	deleted   = 49
	evicted   = 50
	succeeds  = 51
	settles   = 52 // it succeeds, and its kubelet tells the phase later
	fails     = 57
)

// shift are the outcomes of one step in which a pod runs. Healthy code runs for a while, and then succeeds.
func (l *Life) shift(p *corev1.Pod, waits bool) []int {
	if l.tape.schedule == nil {
		return nil
	}
	if waits {
		return []int{runsOn, disrupted, deleted, evicted}
	}
	k := work{p.UID, l.truth.attemptOf(p)}
	if l.worked[k]++; l.worked[k] > shiftSteps {
		return []int{succeeds, fails, overLimit, disrupted, deleted, evicted, runsOn, settles}
	}
	return []int{runsOn, fails, succeeds, overLimit, disrupted, deleted, evicted, settles}
}

// work is what code runs in a pod.
type work struct {
	pod     types.UID
	attempt int
}

// pickNode draws where a pod is placed: on a node that answers. Nodes are alike as long as all is well and neither has a pod.
func (l *Life) pickNode() string {
	t := l.tape
	if t.schedule == nil {
		return pickOf(t, nodes...)
	}
	healthy := max(0, slices.IndexFunc(nodes, func(n string) bool { return !l.lost[n] }))
	return nodes[t.choose(0, ifDiffers(len(l.nodesInUse()) > 0, healthy, 1-healthy)...)]
}

// nodesInUse are the nodes that have a pod, or are lost.
func (l *Life) nodesInUse() []int {
	if l.tape.schedule == nil {
		return nil
	}
	var list []int
	for i, n := range nodes {
		if l.lost[n] || slices.ContainsFunc(l.api.pods(), func(p *corev1.Pod) bool { return p.Spec.NodeName == n }) {
			list = append(list, i)
		}
	}
	return list
}

// hasGarbage reports whether the garbage collector may have anything to do.
func (l *Life) hasGarbage() bool {
	uids := map[types.UID]bool{}
	all := l.api.sorted()
	for _, o := range all {
		uids[o.GetUID()] = true
	}
	for _, o := range all {
		if ref := metav1.GetControllerOf(o); o.GetDeletionTimestamp() != nil || ref != nil && !uids[ref.UID] {
			return true
		}
	}
	return false
}

// missed are how many of so many changes the first list of a cache may lack: none, the last, all.
func missed(changes int) []int {
	switch changes {
	case 0:
		return []int{0}
	case 1:
		return []int{0, 1}
	default:
		return []int{0, 1, 11}
	}
}

// news is how many changes of a kind a cache has not seen.
func (o *operator) news(kind string) int { return len(o.life.api.trails[kind]) - o.caches[kind].seen }

// lagging are the kinds of which a cache has not seen all.
func (o *operator) lagging() []int {
	var list []int
	for i, kind := range o.life.kinds {
		if o.news(kind) > 0 {
			list = append(list, i)
		}
	}
	return list
}

// interrupts draws, before each call of a reconcile, whether it goes on in this step. Else it stays there until the next, or for several,
// or dies there with its operator.
func (l *Life) interrupts(o *operator, p *reconcile) bool {
	switch l.tape.choose(0, 0, 1, 2, 3) {
	case 0:
		return false
	case 1:
		p.stalled = 1
	case 2:
		p.stalled = longStall
	default:
		l.dismiss(o)
	}
	return true
}
