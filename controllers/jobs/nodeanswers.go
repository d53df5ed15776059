package jobs

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/podstate"
)

const (
	// maxNodeReads is how many nodes a reconcile reads at most. A reconcile holds a worker, and thousands of pods may hang at once, as on a storage that
	// does.
	maxNodeReads = 50
	// sharedFor is how long an answer of a node is taken without asking again. It may keep a pod for so much longer, and deletes none: see nodeLook.take.
	sharedFor = 5 * time.Second
	// maxNodeAnswers is how many answers are remembered.
	maxNodeAnswers = 10_000
)

// nodeAnswers remembers what nodes have answered, for all jobs. An operator that has just started remembers nothing, and asks.
type nodeAnswers struct {
	lock  sync.Mutex
	of    map[string]nodeAnswer
	swept time.Time // when old answers were last forgotten
}

// nodeAnswer is what a node has answered, and when it was asked.
type nodeAnswer struct {
	node podstate.Node
	at   time.Time
}

// isYounger reports whether a node was asked less than some time ago. A time to come is no such time: the clock has been set back.
func (a nodeAnswer) isYounger(than time.Duration, now time.Time) bool {
	age := now.Sub(a.at)
	return age >= 0 && age < than
}

// get returns the last answer of a node.
func (a *nodeAnswers) get(name string) (answer nodeAnswer, ok bool) {
	a.lock.Lock()
	defer a.lock.Unlock()
	answer, ok = a.of[name]
	return answer, ok
}

// put remembers an answer, unless a later one is there. If there is no room, it forgets those that need a new look anyway.
func (a *nodeAnswers) put(name string, answer nodeAnswer, now time.Time) {
	a.lock.Lock()
	defer a.lock.Unlock()
	had, ok := a.of[name]
	if ok && had.at.After(answer.at) && !had.at.After(now) {
		return
	}
	if !ok && len(a.of) >= maxNodeAnswers && now.Sub(a.swept).Abs() >= sharedFor { // which takes a while
		a.swept = now
		maps.DeleteFunc(a.of, func(_ string, old nodeAnswer) bool { return !old.isYounger(podstate.NodeInterval, now) })
	}
	if !ok && len(a.of) >= maxNodeAnswers {
		return
	}
	if a.of == nil {
		a.of = map[string]nodeAnswer{}
	}
	a.of[name] = answer
}

// nodeLook is how one reconcile looks at nodes.
type nodeLook struct {
	judge podstate.Judge
	// pods are those whose meaning depends on their node, by node.
	pods map[string][]*corev1.Pod
	// seen is what was found, by node.
	seen map[string]podstate.Node
	// reads counts the nodes that were read. Took says that an answer was taken instead, on which a pod depends; left, that a node was not looked at for
	// too long.
	reads      int
	took, left bool
}

func newNodeLook(w kernel.World) *nodeLook {
	l := &nodeLook{
		judge: podstate.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter},
		pods:  map[string][]*corev1.Pod{}, seen: map[string]podstate.Node{},
	}
	for _, pod := range w.Pods {
		if name := pod.Spec.NodeName; name != "" && l.judge.DependsOnNode(pod) {
			l.pods[name] = append(l.pods[name], pod)
		}
	}
	return l
}

// inTurn returns the nodes in the order in which to look: lost ones, which are few, and then those of pods. These begin after the node that was read
// last, so that each has its turn, however many there are.
func (l *nodeLook) inTurn(lost []string, last string) []string {
	var before, after []string
	for _, name := range slices.Sorted(maps.Keys(l.pods)) {
		switch {
		case slices.Contains(lost, name):
		case name <= last:
			before = append(before, name)
		default:
			after = append(after, name)
		}
	}
	return slices.Concat(lost, after, before)
}

// take does without reading a node, and reports whether it could. An answer by which a pod goes by force must be of this reconcile. The node may be
// back since an older one, and two pods of a replica would write one checkpoint. Any other answer has a pod wait, which is safe. So it may be older.
// If there is none, the node is assumed to answer.
func (l *nodeLook) take(name string, known nodeAnswer, isKnown bool, now time.Time) bool {
	judge := l.judge
	judge.Nodes = map[string]podstate.Node{name: known.node}
	isSafe := isKnown && !slices.ContainsFunc(l.pods[name], judge.NeedsForce)
	switch {
	case isSafe && known.isYounger(sharedFor, now):
		l.seen[name], l.took = known.node, l.took || len(l.pods[name]) > 0
	case l.reads < maxNodeReads:
		return false
	case isSafe:
		l.seen[name], l.left = known.node, l.left || !known.isYounger(podstate.NodeInterval, now)
	default:
		l.seen[name], l.left = podstate.Node{Answers: true, Assumed: true}, true
	}
	return true
}

// again returns after what time to look again; 0 if the pods themselves say so, which is after podstate.NodeInterval. An answer that was taken is
// soon too old. If there are more nodes than one reconcile reads, that has no end, and their turns come.
func (l *nodeLook) again() time.Duration {
	switch {
	case l.left:
		return calls.RetrySoon
	case l.took && l.reads < maxNodeReads:
		return sharedFor
	default:
		return 0
	}
}
