package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What runs in the pods of a life beside the code that trains. It is nothing, or a container that admission has added and that never ends by itself.
// Or it is a sidecar, which the kubelet tells to go when the code has ended, and which takes its time.
const (
	alone    = ""
	injected = "injected"
	native   = "native"
)

const proxy = "proxy"

func runningStatus(container string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
}

// lingeringPod is what happens to a pod whose code has ended, and in which something else still runs.
func (l *Life) lingeringPod(p *corev1.Pod) {
	switch n := l.tape.choose(40, 0, 20, 38, 39); {
	case l.evicting[p.UID] && n < 20:
		l.sayEvicted(p)
	case l.beside == native && n < 6, isTold(p) && n < 12, l.settling[p.UID] && n < 20:
		l.finish(p)
	case n == 39:
		l.say("a drain or a user deletes %s, whose code has ended", keyOf(p))
		l.delete(p)
	case n == 38 && l.beside != alone && !l.evicting[p.UID]:
		l.evictBeside(p)
	}
}

// isTold reports whether the operator has told the kubelet to end what still runs.
func isTold(p *corev1.Pod) bool {
	return p.Spec.ActiveDeadlineSeconds != nil && *p.Spec.ActiveDeadlineSeconds == 1
}

// besideEnded checks that what admission has added is not told to end before it can report. Code that has succeeded must have been over for ten
// seconds. Where a clock was off, nobody knows for how long it was.
func (t *truth) besideEnded(p *corev1.Pod) {
	end := codeEnd(p)
	if end == nil || end.ExitCode != 0 || t.life.beside != injected || len(t.life.skew) > 0 || !t.clockSet.IsZero() {
		return
	}
	if since := t.life.now.Sub(end.FinishedAt.Time); since < 10*time.Second {
		t.violated("a sidecar is ended before it reports", "%s, after %s", p.Name, since)
	}
}

// evictionsWritten checks that an eviction is recorded as what it is, where nothing is in doubt about it. For a limit of the pod's own it is a
// failure. To help the node it is none.
func (t *truth) evictionsWritten(was, is *v1beta1.GenericJob) {
	inPlace := is.Spec.RestartStrategy == v1beta1.RestartInPlace && is.Spec.RestartScope == v1beta1.RestartScopeJob // one count for all
	if inPlace || t.recordOf(is.UID).unsettled {                                                                    // pods of another mode, or that were scaled away, do not count
		return
	}
	for _, p := range t.life.api.pods() {
		if !metav1.IsControlledBy(p, is) || isUnwanted(p) || auxiliary(is, p) {
			continue
		}
		replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
		before, after := ledgerRecord(&was.Status, replicaType, rank), ledgerRecord(&is.Status, replicaType, rank)
		// Of a container that was lost before, an operator whose view is old knows no more than that.
		if _, _, r := t.of(p); told(p) == int(was.Status.JobAttempt+before.Attempt) && !r.bare && r.lost != p.UID {
			t.evictionWritten(p, before, after)
		}
	}
}

// evictionWritten checks it of a pod of the present attempt.
func (t *truth) evictionWritten(p *corev1.Pod, before, after v1beta1.RankRecord) {
	counted := after.Restarts > before.Restarts
	switch {
	case isOwnFault(p) && after.Attempt > before.Attempt && !counted:
		t.violated("kubeflow B2 a failure was not counted", "%s went over a limit of its own", p.Name)
	case t.life.evicting[p.UID] && counted && before.Exits == after.Exits && before.ExitsOfPod == after.ExitsOfPod:
		t.violated("trainer#1560 a disruption was counted", "%s was evicted", p.Name)
	}
}

// isUnwanted reports whether somebody wants a pod to go, or its end tells nothing.
func isUnwanted(p *corev1.Pod) bool {
	_, stopped := p.Annotations[v1beta1.AnnotationStopped]
	return p.DeletionTimestamp != nil || stopped || p.Labels[v1beta1.LabelDebug] == "true"
}

// isOwnFault reports whether a pod was evicted because it went over a limit of its own. Its code ran until then, and nobody wanted it to go.
func isOwnFault(p *corev1.Pod) bool {
	return p.Status.Reason == "Evicted" && len(p.Status.ContainerStatuses) > 0 && !outlived(p) &&
		!slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
}

// outlived reports whether something in a pod ended so long after its code that both cannot be by one eviction.
func outlived(p *corev1.Pod) bool {
	end := codeEnd(p)
	return end != nil && slices.ContainsFunc(slices.Concat(besideCode(p), p.Status.InitContainerStatuses), func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && c.State.Terminated.FinishedAt.Sub(end.FinishedAt.Time) > evictionTakes
	})
}

// finish ends what runs beside the code of a pod.
func (l *Life) finish(p *corev1.Pod) {
	l.say("kubelet: all ends in %s", keyOf(p))
	l.change(p, func(p *corev1.Pod) {
		endBeside(p, l.clockOf(p))
		p.Status.Phase = phaseOf(p)
		if isTold(p) || l.overdue[p.UID] {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		}
	})
}

// besideCode are the states of the containers beside the code.
func besideCode(p *corev1.Pod) []corev1.ContainerStatus {
	if len(p.Status.ContainerStatuses) == 0 {
		return nil
	}
	return p.Status.ContainerStatuses[1:]
}

// endBeside ends them, and sidecars.
func endBeside(p *corev1.Pod, at metav1.Time) {
	for _, list := range [][]corev1.ContainerStatus{besideCode(p), p.Status.InitContainerStatuses} {
		for i := range list {
			if list[i].State.Terminated == nil {
				list[i].State = gone("", 143, "", at).State
			}
		}
	}
}

// lingersCalmly is what happens to such a pod when there is no trouble: a container that was added runs until it is told to stop.
func (l *Life) lingersCalmly(p *corev1.Pod) {
	if l.evicting[p.UID] || l.settling[p.UID] || l.beside == native || isTold(p) {
		l.endRest(p)
	}
}
