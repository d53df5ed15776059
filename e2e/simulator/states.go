package simulator

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/kernel/podstate"
)

// This file and oddends.go have what a kubelet shows seldom, in lives that are drawn for it. Here is what comes before code has started.

// rareStates are these states. The table in KUBELET.md says where each is shown.
var rareStates = []string{
	"ContainerCreating", "PodInitializing", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError",
	"StartError", "ContainerCannotRun", "an init container runs", "an init container fails", "an init container fails, and the phase comes later", "an added init container fails",
	"deleted, and it starts nevertheless",
	"turned away", "evicted before a container was made", "a container was not made", "an init container was not made",
	"OOMKilled", "a process ran out of memory", "an init container has ended",
	"failed, and its containers end later", "failed, and the phase comes later", "DeadlineExceeded", "Preempting", "Terminated", "Failed, ContainerStatusUnknown",
	"wiped by a reboot", "the image is gone", "unknown to the runtime", "the count is raised again",
	"an added container ends first", "a sidecar is started again", "PodResizePending", "Ready taken back", "a clock is off",
	"over a limit, and it exits with 0", "over a limit, and its code had ended", collected,
}

// collected is how lives tell of a pod without a node that the pod garbage collector has ended.
const collected = "collected without a node"

// lost is how a kubelet calls containers that it does not find, and those that it never made.
const lost = "ContainerStatusUnknown"

// prepare is the init container that the templates of some jobs have.
const prepare = "prepare"

// show notes that a life has shown a rare state.
func (l *Life) show(p *corev1.Pod, state string) {
	l.say("kubelet: %s shows: %s", keyOf(p), state)
	l.shown[state]++
}

// hasInit reports whether a pod has the template's init container.
func hasInit(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == prepare })
}

// installerOf is the name of a pod's first init container, which may be the one that installs the wrapper; "" if it has none.
func installerOf(p *corev1.Pod) string {
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy == nil {
			return c.Name
		}
	}
	return ""
}

// hasInstalled reports whether a kubelet has told that an init container runs, or has done its work.
func hasInstalled(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
		return s.Name == installerOf(p) && s.State.Waiting == nil
	})
}

// installs reports whether a pod has an init container that may run next.
func installs(p *corev1.Pod) bool { return installerOf(p) != "" && !hasInstalled(p) }

// isTaken reports whether a kubelet has told of the containers of a pod.
func isTaken(p *corev1.Pod) bool { return len(p.Status.ContainerStatuses) > 0 }

// isHeldUp is what happens now and then to a bound pod before its code starts. It reports whether it does.
func (l *Life) isHeldUp(p *corev1.Pod, n int) bool {
	if !l.rare || n < 40 || n == 58 {
		return false
	}
	switch {
	case n >= 56:
		l.refuse(p)
	case n >= 54:
		l.addedInitFails(p)
	case n >= 52 && hasInit(p):
		l.initFails(p)
	case n >= 50 && !podstate.RestartsInPlace(p):
		l.failsToStart(p)
	case n >= 47 && installs(p):
		l.initRuns(p)
	default:
		l.waitsFor(p)
	}
	return true
}

// refuse has a kubelet end a pod before its code starts: it evicts one of which it has told the containers, and turns away another.
func (l *Life) refuse(p *corev1.Pod) {
	if isTaken(p) {
		l.evictUnmade(p)
	} else {
		l.turnAway(p)
	}
}

// waiting is the status of a container that waits.
func waiting(name, reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

// gone is that of one that has ended, or is called so.
func gone(name string, code int32, reason string, at metav1.Time) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, FinishedAt: at}}}
}

// tell has a kubelet tell of the containers of a pod that waits. That is the code's, and the init container if the template has one.
func (l *Life) tell(p *corev1.Pod, phase corev1.PodPhase, code, init corev1.ContainerStatus, more ...func(*corev1.Pod)) {
	l.change(p, func(p *corev1.Pod) {
		now := l.clockOf(p)
		if p.Status.StartTime == nil {
			p.Status.StartTime = &now
		}
		p.Status.Phase, p.Status.ContainerStatuses, p.Status.InitContainerStatuses = phase, []corev1.ContainerStatus{code}, nil
		if init.Name != "" {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{init}
		}
		for _, change := range more {
			change(p)
		}
	})
}

// initOf is the status of a pod's init container: none if it has none.
func initOf(p *corev1.Pod, is corev1.ContainerStatus) corev1.ContainerStatus {
	if !hasInit(p) {
		return corev1.ContainerStatus{}
	}
	return is
}

// waitsFor is a container that cannot start yet.
func (l *Life) waitsFor(p *corev1.Pod) {
	name := p.Spec.Containers[0].Name
	reason := pickOf(l.tape, "ContainerCreating", "ErrImagePull", "InvalidImageName", "CreateContainerConfigError")
	if isTaken(p) && p.Status.ContainerStatuses[0].State.Waiting != nil && p.Status.ContainerStatuses[0].State.Waiting.Reason == "ErrImagePull" {
		reason = "ImagePullBackOff"
	}
	switch init := installerOf(p); {
	case hasInstalled(p):
		l.show(p, "an init container has ended")
		l.tell(p, corev1.PodPending, waiting(name, "PodInitializing"), gone(init, 0, "Completed", l.clockOf(p)))
		return
	case init != "":
		l.show(p, "PodInitializing")
		l.tell(p, corev1.PodPending, waiting(name, "PodInitializing"), waiting(init, reason))
		return
	}
	l.show(p, reason)
	l.tell(p, corev1.PodPending, waiting(name, reason), corev1.ContainerStatus{})
}

// initRuns is an init container that runs.
func (l *Life) initRuns(p *corev1.Pod) {
	l.show(p, "an init container runs")
	l.tell(p, corev1.PodPending, waiting(p.Spec.Containers[0].Name, "PodInitializing"), runningStatus(installerOf(p)))
}

// initFails is one that fails: then no container starts. The phase may come later.
func (l *Life) initFails(p *corev1.Pod) {
	phase, state := corev1.PodFailed, "an init container fails"
	if l.tape.spare(60, 2) {
		phase, state = corev1.PodPending, "an init container fails, and the phase comes later"
	}
	l.show(p, state)
	l.truth.ended(p, 1)
	l.tell(p, phase, waiting(p.Spec.Containers[0].Name, "PodInitializing"), gone(prepare, 1, "Error", l.clockOf(p)))
}

// initHasFailed reports whether that has happened to a pod.
func initHasFailed(p *corev1.Pod) bool {
	return codeEnd(p) == nil && len(endsOf(p)) > 0
}

// sayInitFailed is the phase that follows.
func (l *Life) sayInitFailed(p *corev1.Pod) {
	l.say("kubelet: calls %s Failed", keyOf(p))
	l.change(p, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
}

// addedInitFails is an init container that admission has added, and that fails.
func (l *Life) addedInitFails(p *corev1.Pod) {
	l.show(p, "an added init container fails")
	l.truth.disrupted(p)
	l.tell(p, corev1.PodFailed, waiting(p.Spec.Containers[0].Name, "PodInitializing"), gone("added", 1, "Error", l.clockOf(p)))
}

// failsToStart is code that the node cannot execute.
func (l *Life) failsToStart(p *corev1.Pod) {
	code, reason := int32(128), "StartError"
	if l.tape.Pick(2) == 1 {
		code, reason = 127, "ContainerCannotRun"
	}
	l.show(p, reason)
	l.truth.ended(p, code)
	phase := corev1.PodRunning
	if l.beside == alone {
		phase = corev1.PodFailed
	}
	now := l.clockOf(p)
	l.tell(p, phase, gone(p.Spec.Containers[0].Name, code, reason, now), initOf(p, gone(prepare, 0, "Completed", now)), l.startBeside)
}

// startBeside starts what runs in a pod beside the code.
func (l *Life) startBeside(p *corev1.Pod) {
	switch l.beside {
	case injected:
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, runningStatus(proxy))
	case native:
		p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, runningStatus(proxy))
	}
}

// turnAway is a kubelet that does not take a pod, for a reason that is rarer than those of reject.
func (l *Life) turnAway(p *corev1.Pod) {
	l.show(p, "turned away")
	l.truth.disrupted(p)
	reason := pickOf(l.tape, "", "NodeShutdown", "NodeAffinity", "AppArmor", "VolumeAttachmentLimitExceeded", "UnexpectedAdmissionError")
	l.change(p, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason })
}

// evictUnmade is an eviction of a pod before the container of the code was made.
func (l *Life) evictUnmade(p *corev1.Pod) {
	l.show(p, "evicted before a container was made")
	l.truth.disrupted(p)
	l.change(p, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		setTarget(p, "TerminationByKubelet", l.clockOf(p))
	})
	l.endUnmade(p)
}

// endUnmade is a kubelet that ends such a pod. It calls lost what it never made: the init container if that has not ended, else the code's.
func (l *Life) endUnmade(p *corev1.Pod) {
	if initHasFailed(p) {
		l.sayInitFailed(p)
		return
	}
	name, now := p.Spec.Containers[0].Name, l.clockOf(p)
	if !hasInit(p) {
		l.show(p, "a container was not made")
		l.tell(p, corev1.PodFailed, gone(name, 137, lost, metav1.Time{}), corev1.ContainerStatus{})
		return
	}
	init := gone(prepare, 137, lost, metav1.Time{})
	if list := p.Status.InitContainerStatuses; len(list) > 0 && list[0].State.Running != nil {
		if init = gone(prepare, 143, "Error", now); p.DeletionTimestamp != nil {
			l.truth.ended(p, 143)
		}
	} else {
		l.show(p, "an init container was not made")
	}
	l.tell(p, corev1.PodFailed, waiting(name, "PodInitializing"), init)
}
