package simulator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// over reports whether no container of the pod runs any more, or ever will.
func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// nodes are the machines of the cluster. On a lost one nothing starts, ends or answers.
var nodes = []string{"a", "b"}

// podTrouble is what nodes, code, and outsiders do to the pods in one step.
func (l *Life) podTrouble() {
	for _, p := range l.api.pods() {
		switch {
		case l.meddlesIn(p):
		case l.lost[p.Spec.NodeName]:
			l.lostPod(p)
		case p.DeletionTimestamp != nil:
			l.terminatingPod(p)
		case over(p):
			l.podThatIsOver(p)
		case p.Spec.NodeName == "":
			l.pendingPod(p)
		case p.Status.Phase == corev1.PodPending:
			l.boundPod(p)
		default:
			l.probe(p)
			l.runningPod(p)
		}
	}
	l.loseNodes()
}

// touch changes a pod in what the operator has no use for.
func (l *Life) touch(p *corev1.Pod) {
	l.change(p, func(p *corev1.Pod) { p.Status.HostIP = fmt.Sprint(l.api.version) })
}

func (l *Life) pendingPod(p *corev1.Pod) {
	switch n := l.tape.choose(30, 9, 0, 29); {
	case n == 29:
		l.say("a user deletes %s, which waits", keyOf(p))
		l.delete(p)
	case n > 8:
		l.schedule(p)
	}
}

func (l *Life) boundPod(p *corev1.Pod) {
	n := l.tape.choose(180, 21, 0, 59, 99)
	if l.isDeletedUnstarted(p, n) {
		return
	}
	switch n %= 60; {
	case n == 59 && !isTaken(p):
		l.reject(p)
	case initHasFailed(p) && n <= 16: // its phase comes later
	case initHasFailed(p) && n <= 20:
		l.deleteUnstarted(p, n == 17)
	case initHasFailed(p):
		l.sayInitFailed(p)
	case l.isHeldUp(p, n):
	case n > 20:
		l.start(p)
	}
}

// reject is a kubelet that turns a pod away: its node is short of disk, or of what the pod asks for.
func (l *Life) reject(p *corev1.Pod) {
	l.say("kubelet: rejects %s", keyOf(p))
	l.truth.disrupted(p)
	reason := pickOf(l.tape, "Evicted", "OutOfcpu", "SysctlForbidden")
	l.change(p, func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, reason })
}

func (l *Life) runningPod(p *corev1.Pod) {
	w := l.wraps(p)
	if w != nil && isTold(p) {
		l.endTold(p)
		return
	}
	waits := w != nil && l.wrapped(p, w)
	if codeEnd(p) != nil && (w == nil || codeEnd(p).ExitCode == 0) {
		l.lingeringPod(p)
		return
	}
	n := l.tape.choose(60, l.shift(p, waits)...)
	if waits || !l.rarely(p, n) {
		l.befall(p, n, waits)
	}
}

// befall is what ends a pod that runs, or asks it to stop: its code, its node, or somebody else. Code that waits does not end by itself.
func (l *Life) befall(p *corev1.Pod, n int, waits bool) {
	switch {
	case n >= 51, n == 47:
		if !waits {
			l.codeEnds(p, n)
		}
	case n == 50:
		l.evict(p)
	case n == 49:
		l.say("a user deletes %s", keyOf(p))
		l.delete(p)
	case n == 48:
		l.disrupt(p, pickOf(l.tape, "EvictionByEvictionAPI", "PreemptionByScheduler"))
	}
}

// change stores a change of a pod.
func (l *Life) change(p *corev1.Pod, change func(*corev1.Pod)) {
	l.api.edit(keyOf(p), func(o client.Object) {
		pod := o.(*corev1.Pod)
		change(pod)
		l.sayStarved(pod)
		if tellsSteps(pod) && len(pod.Status.ContainerStatuses) > 0 {
			l.sayStep(pod)
		}
		if !isReadyTaken(pod) {
			sayReady(pod)
		}
	})
}

func (l *Life) start(p *corev1.Pod) {
	l.say("kubelet: %s runs", keyOf(p))
	l.change(p, func(p *corev1.Pod) {
		now := l.clockOf(p)
		p.Status.Phase, p.Status.StartTime, p.Status.PodIP = corev1.PodRunning, &now, "192.0.2.1"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{runningStatus(p.Spec.Containers[0].Name)}
		p.Status.ContainerStatuses[0].State.Running.StartedAt = now
		p.Status.InitContainerStatuses = nil
		if hasInit(p) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{gone(prepare, 0, "Completed", now)}
		}
		l.startBeside(p)
	})
	l.truth.begins(p)
}

// exit ends the code of a running pod of its own accord.
func (l *Life) exit(p *corev1.Pod, code int32) {
	if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil || codeEnd(p) != nil {
		return
	}
	if w := l.wraps(p); w != nil && code != 0 && hasRules(p) && !l.oldKubelet {
		if code != oomKilled && l.holds(p) {
			l.hold(p, w, code)
			return
		}
		l.exitInPlace(p, w, code)
		return
	}
	l.end(p, code)
}

func (l *Life) end(p *corev1.Pod, code int32) {
	l.say("kubelet: %s exits with code %d", keyOf(p), code)
	l.truth.ended(p, code)
	if w := l.wraps(p); w != nil {
		if l.beside != alone {
			l.truth.mayPassForStranded(p, code)
		}
		if w.waits() && orderOf(p).Attempt > w.ran {
			l.truth.neverBegins(p)
		}
	}
	l.endWrapper(p)
	l.change(p, func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0] = ended(p, code, l.clockOf(p))[0]
		if !anyBeside(p) && !l.settling[p.UID] {
			p.Status.Phase = phaseOf(p)
		}
	})
}

// terminatingPod is what happens to a pod that somebody deletes. Its kubelet ends it. If it had begun with the pod, it may start its code before that.
// A pod without a node has no kubelet: the garbage collector of pods ends it.
func (l *Life) terminatingPod(p *corev1.Pod) {
	isUnbound, mayStart, outcomes := p.Spec.NodeName == "" && !over(p), mayStartYet(p), []int{3, 0}
	switch {
	case isUnbound:
		outcomes[1] = 7
	case mayStart:
		outcomes = append(outcomes, 1)
	}
	switch n := l.tape.choose(16, outcomes...); {
	case n == 7 && isUnbound:
		l.collectUnbound(p)
	case n%4 == 3:
		runs := p.Status.Phase == corev1.PodRunning
		l.terminate(p, []int32{143, 0, 1}[l.tape.choose(3, ifDiffers(runs, 0, 1, 2)...)])
	default:
		l.goesOn(p, n, mayStart)
	}
}

// terminate lets the kubelet carry out a deletion: what runs is ended, and then the deletion is confirmed.
func (l *Life) terminate(p *corev1.Pod, code int32) {
	if p.DeletionTimestamp == nil {
		return
	}
	switch {
	case p.Status.Phase == corev1.PodRunning:
		l.endRunning(p, code)
	case p.Status.Phase == corev1.PodPending && isTaken(p):
		l.endUnmade(p)
	default:
		l.confirm(p)
		return
	}
	if !l.trouble || !l.tape.Chance(2) { // else the confirmation comes later
		l.confirm(p)
	}
}

// endRunning ends a running pod, code and all.
func (l *Life) endRunning(p *corev1.Pod, code int32) {
	switch w := l.wraps(p); {
	case w != nil && (w.stranded || isLost(p)):
		l.endLost(p)
	case w != nil && w.down:
		l.endTold(p)
	case codeEnd(p) == nil:
		l.settling[p.UID] = l.rare && w == nil && l.beside == alone && l.tape.spare(2, 2) // its phase follows
		l.end(p, w.codeTold(code))
	}
	l.endRest(p)
}

// codeTold is the exit code of a container that is told to end, by that of its code. Where no code runs, it is the wrapper's own.
func (w *wrapper) codeTold(code int32) int32 {
	if w != nil && !w.runs && w.held == nil {
		return 143
	}
	return code
}

// endRest ends what is left of a running pod whose code has ended.
func (l *Life) endRest(p *corev1.Pod) {
	switch {
	case l.evicting[p.UID]:
		l.sayEvicted(p)
	case l.beside != alone, l.settling[p.UID]:
		l.finish(p)
	}
}

// confirm deletes a pod of which nothing runs any more, with no time left.
func (l *Life) confirm(p *corev1.Pod) {
	if *p.DeletionGracePeriodSeconds > 0 {
		_ = l.api.remove(keyOf(p), p.UID, 0)
	}
}

// delete is an outsider's deletion of a pod.
func (l *Life) delete(p *corev1.Pod) { _ = l.api.remove(keyOf(p), p.UID, unsaid) }

// podsCalm is what nodes and code do in one calm step. Pods that were asked to stop, end. The others start, and then succeed, unless their job hangs
// until its deadline, or they only serve the others.
func (l *Life) podsCalm() {
	for _, p := range l.api.pods() {
		l.probe(p)
		switch {
		case p.DeletionTimestamp != nil:
			l.terminate(p, 143)
		case p.Spec.NodeName == "":
			l.schedule(p)
		case initHasFailed(p) && !over(p):
			l.sayInitFailed(p)
		case p.Status.Phase == corev1.PodPending:
			l.start(p)
		case over(p), l.waitsCalmly(p):
		case codeEnd(p) != nil:
			l.lingersCalmly(p)
		case l.napping, l.missesGang(p), l.overtaken(p), l.truth.trainsOn(p), l.truth.serves(p): // what came too late the operator has to stop
		case !l.hangs || !l.hasDeadline():
			l.exit(p, 0)
		}
	}
}

// overtaken reports whether a pod was created too late, and is not told of the present attempt either.
func (l *Life) overtaken(p *corev1.Pod) bool {
	job, _, _ := l.truth.of(p)
	return l.truth.late[p.UID] && (l.wraps(p) == nil || job == nil || !isCurrent(job, p))
}
