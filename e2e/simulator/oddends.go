package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/kernel/podstate"
)

// oomKilled stands for an exit code of 137 of which the runtime says that it was the kernel, for memory.
const oomKilled = int32(1137)

// rarely is what happens now and then to a pod that runs. It reports whether it does.
func (l *Life) rarely(p *corev1.Pod, n int) bool {
	if !l.rare || n == 0 || n > 15 {
		return false
	}
	beside := slices.Contains([]int{2, 3, 10, 14, 15}, n)
	switch {
	case n >= 11 && n <= 13:
		l.starve(p)
	case beside && l.beside != alone:
		l.changeBeside(p)
	case n >= 10 && l.wraps(p) != nil && !l.oldKubelet:
		l.forgetContainer(p, l.wraps(p))
	default:
		return l.endsOddly(p, n)
	}
	return true
}

// endsOddly is a resize that waits, or a rare end of a pod that runs. It reports whether there is one.
func (l *Life) endsOddly(p *corev1.Pod, n int) bool {
	inPlace := podstate.RestartsInPlace(p)
	switch {
	case n == 1:
		l.resize(p)
	case n == 4 && !inPlace:
		l.loseForGood(p)
	case n == 5 && !inPlace:
		l.wipe(p)
	case n <= 7 && p.Spec.ActiveDeadlineSeconds != nil:
		l.deadlinePasses(p)
	case n == 8, n == 9 && inPlace:
		l.runsOutOfMemory(p)
	case n == 9 && l.beside == alone:
		l.show(p, "failed, and the phase comes later")
		l.settling[p.UID] = true
		l.exit(p, pickOf(l.tape, int32(1), 143))
	default:
		return false
	}
	return true
}

// runsOutOfMemory has code be killed, for it takes more memory than it may.
func (l *Life) runsOutOfMemory(p *corev1.Pod) {
	l.show(p, "OOMKilled")
	l.settling[p.UID] = !podstate.RestartsInPlace(p) && l.beside == alone && l.tape.Chance(2)
	l.exit(p, oomKilled)
}

// starve has a process of a container run out of memory without which its code goes on. However that ends, containerd says that it ran out of memory.
func (l *Life) starve(p *corev1.Pod) {
	l.show(p, "a process ran out of memory")
	l.starved[p.UID] = true
}

// sayStarved is what a kubelet says of the end of such a container. It says so of one that was killed later, too. Nobody can tell that from one that
// ran out of memory itself, so it is left out.
func (l *Life) sayStarved(p *corev1.Pod) {
	if !l.starved[p.UID] || len(p.Status.ContainerStatuses) == 0 {
		return
	}
	s := &p.Status.ContainerStatuses[0]
	end := s.State.Terminated
	if s.State.Waiting != nil {
		end = s.LastTerminationState.Terminated
	}
	if end == nil {
		return
	}
	delete(l.starved, p.UID)
	if end.Reason == "" && end.ExitCode != 137 {
		end.Reason = "OOMKilled"
	}
}

// resize is a request for other resources that waits.
func (l *Life) resize(p *corev1.Pod) {
	l.show(p, "PodResizePending")
	l.change(p, func(p *corev1.Pod) {
		without(p, corev1.PodResizePending)
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible})
	})
}

// without takes conditions of a type away.
func without(p *corev1.Pod, is corev1.PodConditionType) {
	p.Status.Conditions = slices.DeleteFunc(slices.Clone(p.Status.Conditions), func(c corev1.PodCondition) bool { return c.Type == is })
}

// changeBeside ends a container that admission has added, or ends or starts a sidecar that is started again.
func (l *Life) changeBeside(p *corev1.Pod) {
	code := l.tape.Pick(2)
	l.change(p, func(p *corev1.Pod) {
		if l.beside == injected {
			if s := &p.Status.ContainerStatuses[1]; s.State.Terminated == nil {
				l.show(p, "an added container ends first")
				*s = gone(proxy, int32(code), "", l.clockOf(p))
			}
			return
		}
		s := &p.Status.InitContainerStatuses[len(p.Status.InitContainerStatuses)-1]
		switch {
		case s.State.Running == nil:
			l.show(p, "a sidecar is started again")
			s.State, s.RestartCount = runningStatus(proxy).State, s.RestartCount+1
		case code == 0:
			s.State = gone(proxy, 1, "Error", l.clockOf(p)).State
		default:
			s.State, s.LastTerminationState = waiting(proxy, "CrashLoopBackOff").State, gone(proxy, 1, "Error", l.clockOf(p)).State
		}
	})
}

// anyBeside reports whether anything runs in a pod beside the code, or will.
func anyBeside(p *corev1.Pod) bool {
	isOn := func(s corev1.ContainerStatus) bool { return s.State.Terminated == nil }
	return slices.ContainsFunc(besideCode(p), isOn) || slices.ContainsFunc(p.Status.InitContainerStatuses, isOn)
}

// loseForGood is a kubelet that does not find the container of a pod any more, and ends the pod.
func (l *Life) loseForGood(p *corev1.Pod) {
	l.show(p, "Failed, ContainerStatusUnknown")
	l.truth.disrupted(p)
	l.change(p, func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		*s = gone(s.Name, 137, lost, metav1.Time{})
		s.RestartCount, p.Status.Phase = 1, corev1.PodFailed
		endBeside(p, l.clockOf(p))
	})
}

// wipe is a node that has rebooted, and whose kubelet turns away a pod that ran: nothing tells so.
func (l *Life) wipe(p *corev1.Pod) {
	l.show(p, "wiped by a reboot")
	l.truth.disrupted(p)
	l.change(p, func(p *corev1.Pod) {
		p.Status = corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", StartTime: p.Status.StartTime}
	})
}

// failFirst has a kubelet tell the phase of a pod whose deadline is over, and call its containers running. They have ended, but it looked at them
// before.
func (l *Life) failFirst(p *corev1.Pod) {
	l.show(p, "failed, and its containers end later")
	l.change(p, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded" })
}

// deadlinePasses is a kubelet that ends a pod because of its template's activeDeadlineSeconds: a failure, whatever its code exits with. It may tell
// first that the code has ended.
func (l *Life) deadlinePasses(p *corev1.Pod) {
	l.show(p, "DeadlineExceeded")
	code := pickOf(l.tape, int32(143), 0)
	l.endWrapper(p)
	l.truth.ended(p, 143)
	l.overdue[p.UID] = true
	l.settling[p.UID] = l.beside == alone && l.tape.Chance(2)
	if !l.settling[p.UID] && l.tape.Chance(2) {
		l.failFirst(p)
	}
	l.change(p, func(p *corev1.Pod) {
		if at := p.Status.StartTime; at != nil { // it passes now, whatever the template says
			p.Spec.ActiveDeadlineSeconds = new(int64(l.clockOf(p).Sub(at.Time) / time.Second))
		}
		p.Status.ContainerStatuses[0] = ended(p, code, l.clockOf(p))[0]
		if !l.settling[p.UID] {
			p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
			endBeside(p, l.clockOf(p))
		}
	})
}

// evictionReason is why a kubelet ends a pod to help its node.
func (l *Life) evictionReason(p *corev1.Pod) string {
	if !l.rare {
		return "Evicted"
	}
	reason := pickOf(l.tape, "Evicted", "Preempting", "Terminated")
	if reason != "Evicted" {
		l.show(p, reason)
	}
	return reason
}

// forgets is a runtime that does not know any more how a container has ended. Its kubelet has raised the restart count when it tells so. That of 1.36
// raises it once more when it starts the container again. It reports whether it is so.
func (l *Life) forgets(p *corev1.Pod, w *wrapper) bool {
	if !l.rare {
		return false
	}
	l.show(p, "unknown to the runtime")
	w.raises = true
	l.change(p, func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.State, s.RestartCount = gone(s.Name, 137, lost, metav1.Time{}).State, int32(w.exits+w.extra)
	})
	if l.tape.Chance(2) { // before anybody looks
		l.restartContainer(p, w)
	}
	return true
}

// raisesAgain is what a kubelet does that starts such a container again. Who has not looked meanwhile takes that for a failure before the loss. If
// the code fails before the next look, too, only that end is told, and the loss is taken for a failure of it.
func (l *Life) raisesAgain(p *corev1.Pod, w *wrapper) {
	if w.raises {
		l.show(p, "the count is raised again")
		w.raises = false
		w.extra++
		_, _, r := l.truth.of(p)
		r.doubts += 2
	}
}

// imageIsGone is a kubelet that cannot start a container again, for its image is not there any more. It is pulled later.
func (l *Life) imageIsGone(p *corev1.Pod) {
	if !l.rare {
		return
	}
	l.show(p, "the image is gone")
	reason := pickOf(l.tape, "ErrImageNeverPull", "ImagePullBackOff")
	l.change(p, func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		if s.State.Terminated != nil {
			s.LastTerminationState = s.State
		}
		s.State = waiting(s.Name, reason).State
	})
}

// setNodesClocks has the clocks of nodes go wrong by as much as clocks in step may, seen from each other.
func (l *Life) setNodesClocks() {
	l.skew = map[string]time.Duration{nodes[0]: 2 * time.Second, nodes[1]: -2 * time.Second}
	l.say("the clocks of nodes are off by %v", l.skew)
	l.shown["a clock is off"]++
}

// onNode is the present by the clock of a pod's node.
func (l *Life) onNode(p *corev1.Pod) time.Time { return l.now.Add(l.skew[p.Spec.NodeName]) }

// clockOf is that as it is stored: in whole seconds.
func (l *Life) clockOf(p *corev1.Pod) metav1.Time {
	return metav1.NewTime(l.onNode(p).Truncate(time.Second))
}

// tooClose reports whether nobody can tell which of two times was first, one of which is by a node's clock.
func (l *Life) tooClose(a, b metav1.Time) bool {
	apart := a.Sub(b.Time).Abs()
	return apart == 0 || len(l.skew) > 0 && apart <= 5*time.Second
}
