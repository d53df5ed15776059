package simulator

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// holds reports whether the wrapper of a pod stays when its code fails. A real one does so if its container was started again lately,
// which is about delays alone.
func (l *Life) holds(p *corev1.Pod) bool {
	job, _, _ := l.truth.of(p)
	return job != nil && job.Spec.RestartScope == v1beta1.RestartScopeJob && l.tape.Chance(2)
}

// hold has code fail whose wrapper stays. Nobody knows yet.
func (l *Life) hold(p *corev1.Pod, w *wrapper, code int32) {
	l.say("%s: its code of attempt %d fails with %d, and its wrapper stays", keyOf(p), w.ran, code)
	w.runs, w.heard = false, false
	w.held = &inplace.End{Attempt: w.ran, Code: code, Began: l.onNode(p), Ended: l.onNode(p), Message: l.withStep(p, "")}
}

func (l *Life) isHeldTooLong(p *corev1.Pod, w *wrapper) bool {
	return !l.onNode(p).Before(w.held.Ended.Add(inplace.Hold))
}

// exitHeld ends the container of a wrapper that got no order.
func (l *Life) exitHeld(p *corev1.Pod, w *wrapper) {
	l.hear(p, w)
	l.exitContainer(p, w, w.held.Code)
}

// hear is the first time that somebody may know of an end that is held: from then on it is to be counted.
func (l *Life) hear(p *corev1.Pod, w *wrapper) {
	if w.held != nil && !w.heard {
		l.truth.ended(p, w.held.Code)
		w.heard = true
	}
}

// forgetHeld is the end of a wrapper that holds an end: whether that was counted when it was told, nobody can say.
func (l *Life) forgetHeld(p *corev1.Pod, w *wrapper) {
	if w.held != nil && w.heard {
		_, _, r := l.truth.of(p)
		r.doubts++
	}
	w.held, w.heard = nil, false
}
