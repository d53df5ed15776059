package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// evict is an eviction by the kubelet: the pod fails with a reason, and stays.
func (l *Life) evict(p *corev1.Pod) {
	l.say("kubelet: evicts %s", keyOf(p))
	l.truth.disrupted(p)
	if now, ok := l.api.get(keyOf(p)).(*corev1.Pod); ok && now.UID == p.UID {
		p = now // its container may have been lost in this very step
	}
	if codeEnd(p) == nil && l.beside == alone && l.wraps(p) == nil && l.tape.Chance(4) {
		l.evictObedient(p)
		return
	}
	l.endWrapper(p)
	if codeEnd(p) == nil && l.tape.Chance(2) { // it tells first that the code has ended
		l.evicting[p.UID] = true
		l.change(p, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = append(ended(p, 143, l.clockOf(p)), besideCode(p)...)
		})
		return
	}
	l.sayEvicted(p)
}

// evictObedient is an eviction of code that exits with 0 when it is told to stop. The kubelet calls such a pod Succeeded, and gives no reason. It may
// tell first that the code has ended: until the phase comes nobody can know that the code has not done its work.
func (l *Life) evictObedient(p *corev1.Pod) {
	if l.tape.Chance(2) {
		l.evicting[p.UID] = true
		l.change(p, func(p *corev1.Pod) { p.Status.ContainerStatuses = ended(p, 0, l.clockOf(p)) })
		return
	}
	l.change(p, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.ContainerStatuses = corev1.PodSucceeded, ended(p, 0, l.clockOf(p))
		setTarget(p, "TerminationByKubelet", metav1.NewTime(l.clockOf(p).Add(2*time.Second)))
	})
}

// isObedient reports whether a kubelet evicts a pod whose code has exited with 0 because it was told to stop.
func (l *Life) isObedient(p *corev1.Pod) bool {
	end := codeEnd(p)
	return l.evicting[p.UID] && end != nil && end.ExitCode == 0
}

// silence notes for which pods of a node that does not answer any more nobody may ever tell that they were evicted.
func (l *Life) silence(node string) {
	for _, p := range l.api.pods() {
		mayPass := l.isObedient(p) || l.overdue[p.UID] && codeEnd(p).ExitCode == 0
		if p.Spec.NodeName == node && !over(p) && mayPass {
			_, _, r := l.truth.of(p)
			r.doubts++
		}
	}
}

// sayEvicted has the kubelet tell that it has evicted a pod.
func (l *Life) sayEvicted(p *corev1.Pod) {
	at := l.clockOf(p)
	if end := codeEnd(p); l.evicting[p.UID] && end.FinishedAt.Add(2*time.Second).Before(at.Time) {
		at = metav1.NewTime(end.FinishedAt.Add(2 * time.Second)) // it does not take a minute, as a step of a life may
	}
	l.change(p, func(p *corev1.Pod) {
		if l.isObedient(p) {
			p.Status.Phase = corev1.PodSucceeded
		} else {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, l.evictionReason(p)
		}
		setTarget(p, "TerminationByKubelet", at)
		if codeEnd(p) == nil {
			p.Status.ContainerStatuses = append(ended(p, 137, l.clockOf(p)), besideCode(p)...)
		}
		endBeside(p, l.clockOf(p))
	})
}

// evictForItsLimit is an eviction by the kubelet because the pod went over a limit of its own: a failure. Code may exit with 0 when it is told to stop,
// and what runs beside it takes its time.
func (l *Life) evictForItsLimit(p *corev1.Pod) {
	l.say("kubelet: evicts %s, which went over a limit of its own", keyOf(p))
	l.endWrapper(p)
	l.truth.ended(p, 137)
	code := int32(137)
	if l.rare && l.beside == injected && l.tape.Chance(2) {
		l.show(p, "over a limit, and it exits with 0")
		code = 0
	}
	l.change(p, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		p.Status.ContainerStatuses = append(ended(p, code, l.clockOf(p)), besideCode(p)...)
		endBeside(p, metav1.NewTime(l.clockOf(p).Add(2*time.Second)))
	})
}

// evictionTakes is the longest time between the ends of two containers of a pod that its kubelet evicts for a limit of its own.
const evictionTakes = 5 * time.Second

// evictBeside is an eviction, when the code of a pod has ended. It is often for a limit of the pod's own: what runs beside the code has gone over it.
func (l *Life) evictBeside(p *corev1.Pod) {
	isLong := l.clockOf(p).Sub(codeEnd(p).FinishedAt.Time) > evictionTakes
	if !l.rare || !isLong || podstate.RestartsInPlace(p) || l.overdue[p.UID] || !l.tape.Chance(2) {
		l.evict(p)
		return
	}
	l.show(p, "over a limit, and its code had ended")
	l.change(p, func(p *corev1.Pod) {
		endBeside(p, l.clockOf(p))
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
	})
}

// disrupt is a deletion by the control plane, which says so in a condition first. This condition overwrites the kubelet's. An operator that has not
// seen the kubelet's cannot learn any more that the kubelet evicted the pod. An eviction for a limit of the pod's own has no condition: with this one
// it looks like a disruption.
func (l *Life) disrupt(p *corev1.Pod, reason string) {
	l.say("control plane: deletes %s, %s", keyOf(p), reason)
	if p.Status.Phase == corev1.PodSucceeded && hasTarget(p, "TerminationByKubelet") || isOwnFault(p) {
		_, _, r := l.truth.of(p)
		r.doubts++
	}
	l.change(p, func(p *corev1.Pod) { setTarget(p, reason, l.stamp()) })
	l.delete(p)
}

func hasTarget(p *corev1.Pod, reason string) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Reason == reason
	})
}

func setTarget(p *corev1.Pod, reason string, at metav1.Time) {
	without(p, corev1.DisruptionTarget)
	if !isReadyTaken(p) {
		without(p, corev1.PodReady)
	}
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, LastTransitionTime: at,
	})
}

// collectPod is the pod garbage collector's end of a pod whose node is gone.
func (l *Life) collectPod(p *corev1.Pod) {
	l.say("pod garbage collector: removes %s of a lost node", keyOf(p))
	if !over(p) {
		l.truth.disrupted(p)
		l.change(p, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			setTarget(p, "DeletionByPodGC", l.stamp())
		})
	}
	_ = l.api.remove(keyOf(p), p.UID, 0)
}

// collectUnbound is the pod garbage collector's end of a pod that somebody has deleted before it had a node.
func (l *Life) collectUnbound(p *corev1.Pod) {
	l.say("pod garbage collector: calls %s Failed, which has no node, and removes it", keyOf(p))
	l.shown[collected]++
	l.change(p, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	_ = l.api.remove(keyOf(p), p.UID, 0)
}

// mayStartYet reports whether a kubelet may start the code of a pod that somebody deletes.
func mayStartYet(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodPending && p.Spec.NodeName != "" && *p.DeletionGracePeriodSeconds > 0 && !initHasFailed(p)
}

// startsNevertheless reports whether a kubelet starts the code of a pod that somebody deletes, where it may. It does so more often if it
// has told that the containers wait: such pods are few.
func startsNevertheless(p *corev1.Pod, n int) bool {
	return n == 1 || isTaken(p) && (n == 9 || n == 13)
}

// goesOn is what a kubelet does now and then to a pod before it hears that somebody deletes it.
func (l *Life) goesOn(p *corev1.Pod, n int, mayStart bool) {
	switch {
	case mayStart && startsNevertheless(p, n):
		l.show(p, "deleted, and it starts nevertheless")
		l.start(p)
	case n == 5 && mayStart && l.rare:
		l.waitsFor(p)
	case n%4 == 2 && l.rare:
		l.restartsNevertheless(p, n == 2)
	}
}

// restartsNevertheless is code that may fail in place while somebody deletes its pod. Its kubelet tells so. It may start the container again before it
// hears of the deletion.
func (l *Life) restartsNevertheless(p *corev1.Pod, fails bool) {
	w := l.wraps(p)
	if w == nil || l.oldKubelet || !hasRules(p) || w.stranded || w.untold {
		return
	}
	switch {
	case w.down && !isLost(p):
		l.restartContainer(p, w)
	case fails && !w.down && w.runs:
		if _, _, r := l.truth.of(p); podstate.HasMark(p, v1beta1.AnnotationDisrupted) {
			r.doubts++ // nobody has stopped the code: its failure may count as its own, though the pod is marked
		}
		l.exitInPlace(p, w, 17)
	}
}

// podThatIsOver is what outsiders do to a pod that is over. The eviction API says of it, too, that it was disrupted.
func (l *Life) podThatIsOver(p *corev1.Pod) {
	switch l.tape.choose(16, 0, 7, 15) {
	case 7:
		l.say("a drain, the pod garbage collector or a user deletes %s, which is over", keyOf(p))
		l.delete(p)
	case 15:
		l.disrupt(p, "EvictionByEvictionAPI")
	}
}

// isDeletedUnstarted is a deletion or an eviction, now and then, of a bound pod before its code starts. It reports whether there is one. Pods of
// which a kubelet has told that the containers wait are few, so more of them are deleted.
func (l *Life) isDeletedUnstarted(p *corev1.Pod, n int) bool {
	waits := l.rare && isTaken(p)
	if n > 99 || n < 90 || n < 98 && !waits {
		return false
	}
	l.deleteUnstarted(p, n == 98)
	return true
}

// deleteUnstarted is a deletion by somebody else, or an eviction, of a pod that has a node and whose code has not started.
func (l *Life) deleteUnstarted(p *corev1.Pod, evicts bool) {
	if evicts {
		l.disrupt(p, "EvictionByEvictionAPI")
		return
	}
	l.say("a user deletes %s, whose code has not started", keyOf(p))
	l.delete(p)
}
