package simulator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// unknownEnd is the reason of an end of which a node knows nothing after a reboot.
const unknownEnd = "Unknown"

// isRebooted reports whether the node of a pod has rebooted, and knows nothing of the end of its code.
func isRebooted(p *corev1.Pod) bool {
	list := p.Status.ContainerStatuses
	return len(list) > 0 && list[0].State.Terminated != nil && list[0].State.Terminated.Reason == unknownEnd
}

// losesContainer draws whether a node does one of these to a pod: more often while its wrapper waits.
func (l *Life) losesContainer(w *wrapper) bool {
	often := 150
	if !w.runs && !w.down {
		often = 60
	}
	if l.rare {
		often = 15
	}
	return !l.oldKubelet && !w.stranded && l.tape.Chance(often)
}

// loseContainer is what a node does to a pod that restarts in place: its sandbox dies, the node reboots, or its runtime forgets the container.
func (l *Life) loseContainer(p *corev1.Pod, w *wrapper) {
	l.forgetHeld(p, w)
	w.untold = false
	switch way := l.tape.Pick(3); {
	case !w.down && l.rare && way != 1 && l.tape.Chance(2):
		l.forgetContainer(p, w)
	case w.down:
		l.say("kubelet: %s has lost its sandbox", keyOf(p))
		w.stranded = true
	case way == 0:
		l.forgetContainer(p, w)
	case way == 1:
		l.say("node: reboots under %s", keyOf(p))
		l.strand(p, w, 255, unknownEnd)
	default:
		code := pickOf(l.tape, int32(143), 137, 1)
		if !w.runs {
			code = 143 // the wrapper's own
		}
		l.say("kubelet: the sandbox of %s dies, and its container exits with code %d", keyOf(p), code)
		l.strand(p, w, code, "Error")
	}
}

// powerFailure is what may happen last in the troubled part of a life, so that nothing else ends the pods that have lost their containers.
func (l *Life) powerFailure() {
	if !l.tape.ChanceIf(len(l.wrappers) > 0, 3) {
		return
	}
	for _, p := range l.api.pods() {
		if w := l.wraps(p); w != nil && !l.oldKubelet && p.DeletionTimestamp == nil && codeEnd(p) == nil && l.tape.Due(2) {
			l.loseContainer(p, w)
		}
	}
}

// strand ends all containers of a pod, which its kubelet still calls Running. It starts none again.
func (l *Life) strand(p *corev1.Pod, w *wrapper, code int32, reason string) {
	if code == 1 {
		l.truth.ended(p, code) // its code may have failed
	} else {
		l.truth.stranded(p)
	}
	w.runs, w.down, w.stranded = false, true, true
	l.change(p, func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(ended(p, code, l.clockOf(p)), besideCode(p)...)
		end := p.Status.ContainerStatuses[0].State.Terminated
		if end.Reason = reason; reason == unknownEnd {
			end.FinishedAt = metav1.Time{} // it does not know when, either
		}
		endBeside(p, l.clockOf(p))
		for i := range p.Status.InitContainerStatuses {
			if s := &p.Status.InitContainerStatuses[i]; s.Name != prepare {
				s.State = p.Status.ContainerStatuses[0].State
			}
		}
	})
}

// forgetContainer is a kubelet that cannot find a container any more. It has raised the restart count when it tells so, and starts another.
func (l *Life) forgetContainer(p *corev1.Pod, w *wrapper) {
	l.say("kubelet: cannot find the container of %s, and waits to start another", keyOf(p))
	l.truth.stranded(p)
	w.died = w.died || !w.runs // its code may begin yet, though the end counts
	w.runs, w.down, w.untold = false, true, false
	w.exits++
	if l.forgets(p, w) {
		return
	}
	l.change(p, func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.RestartCount = int32(w.exits + w.extra)
		s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
		s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: lost}}
	})
}

// stranded notes that a node has ended the container of a pod: no failure, of whatever attempt its code was. If the pod is ended before anybody
// looks, its exit code passes for that of code that has failed on the node.
func (t *truth) stranded(p *corev1.Pod) {
	_, _, r := t.of(p)
	t.noteOnNode(p, metav1.GetControllerOf(p).UID)
	t.endsUnknown(p)
	r.disruptions++
	if r.lost == p.UID {
		r.doubts++ // who has seen neither loss takes the first for a failure: only the last end is told
	}
	r.lost = p.UID
}

// endLost is the kubelet that ends a pod, as it was told, whose container it has lost.
func (l *Life) endLost(p *corev1.Pod) {
	l.say("kubelet: ends %s", keyOf(p))
	l.endWrapper(p)
	l.change(p, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		if codeEnd(p) == nil {
			p.Status.ContainerStatuses = append(ended(p, 143, l.clockOf(p)), besideCode(p)...)
		}
		endBeside(p, l.clockOf(p))
	})
}

// isLost reports whether the kubelet has told that it cannot find the container of a pod.
func isLost(p *corev1.Pod) bool {
	s := p.Status.ContainerStatuses[0]
	if s.State.Terminated != nil {
		return s.State.Terminated.Reason == lost
	}
	return s.State.Waiting != nil && s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.Reason == lost
}

// mayPassForStranded notes an end by a code that a pod has, too, which has lost its sandbox. An operator whose view is old, or whose clock is ahead,
// may take it for that.
func (t *truth) mayPassForStranded(p *corev1.Pod, code int32) {
	if _, _, r := t.of(p); code == 137 || code == 143 {
		r.doubts++
	}
}

// begins checks a pod without a wrapper whose code is started: where others restart in place with it, it must meet none of another start.
func (t *truth) begins(p *corev1.Pod) {
	job, _, _ := t.of(p)
	if job != nil && p.Labels[v1beta1.LabelDebug] != "true" && !podstate.RestartsInPlace(p) && !auxiliary(job, p) && !t.late[p.UID] && job.Spec.RestartStrategy == v1beta1.RestartInPlace &&
		job.Spec.RestartScope == v1beta1.RestartScopeJob {
		t.checkJobAttempts(job, p, t.madeIn[p.UID])
	}
}

// jobAttemptOf is the start whose code runs in a pod, if any does.
func (t *truth) jobAttemptOf(p *corev1.Pod) (jobAttempt int32, runs bool) {
	if w := t.life.wraps(p); w != nil {
		return w.jobAttempt, w.runs
	}
	return t.madeIn[p.UID], !podstate.RestartsInPlace(p) && p.Status.Phase == corev1.PodRunning && codeEnd(p) == nil
}

// streaksWritten checks what a streak of short lives is made of, where all replicas restart together.
func (t *truth) streaksWritten(was, is *v1beta1.GenericJob) {
	s := &is.Status
	debugs := is.Spec.RunMode.Debugs() || strings.HasPrefix(s.Mode, spec.ModeDebug) || s.ModeGeneration > 0 // what ended in it counts nowhere
	if is.Spec.RestartScope != v1beta1.RestartScopeJob || debugs || t.life.oldKubelet {
		return
	}
	t.streaksOfAll(s)
	limit := is.Spec.InPlaceLimit
	if limit != nil && replacedIn(s) > replacedIn(&was.Status) && s.BackoffCount+s.ExceptedCount < *limit+2 {
		t.violated("drains use up the limit in place", "all pods are replaced after %d restarts, and the limit is %d", s.BackoffCount, *limit)
	}
}

// streaksOfAll: each member of the job has failed or was disrupted with all of it only.
func (t *truth) streaksOfAll(s *v1beta1.GenericJobStatus) {
	for _, l := range s.Ledger {
		for _, r := range l.Replicas {
			if l.Type != "store" && r.Streak > s.BackoffCount+s.ExceptedCount+s.DisruptionCount {
				t.violated("an auxiliary replica delays the others", "%s-%d has a streak of %d after %d restarts and %d disruptions", l.Type, r.Rank, r.Streak, s.BackoffCount, s.DisruptionCount)
			}
		}
	}
}

// replacedIn is the attempt in which all pods of a job were replaced; 0 if they never were.
func replacedIn(s *v1beta1.GenericJobStatus) int32 {
	if s.InPlace == nil {
		return 0
	}
	return s.InPlace.MinPodJobAttempt
}
