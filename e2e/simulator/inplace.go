package simulator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// wrapper is the wrapper of a pod that restarts in place, and what its kubelet does with it.
type wrapper struct {
	order      inplace.Order // what it knows: what the volume shows, which lags behind the annotation, or what it was told
	ran        int           // the last attempt whose code was started; -1 before
	at         int           // the attempt that was reached
	exits      int           // of its container
	runs       bool          // its code
	jobAttempt int32         // of that code
	died       bool          // once while it waited: that counts as a failure, though it may then run what it waited for
	mute       bool          // its container ended while it waited, so no words tell a step
	gone       bool          // it has ended for good
	down       bool          // its container has ended, and the kubelet has not started it again yet
	stranded   bool          // ... nor ever will
	untold     bool          // its container runs again, and the kubelet has not told so yet
	held       *inplace.End  // how its code has failed, while it waits for an order
	heard      bool          // an operator was told that
	raises     bool          // the restart count will be raised once too often
	extra      int           // by how much the kubelet has done so
}

// wraps is the wrapper of a pod; nil of one that does not restart in place, or does not run.
func (l *Life) wraps(p *corev1.Pod) *wrapper {
	if !podstate.RestartsInPlace(p) || p.Status.Phase != corev1.PodRunning {
		return nil
	}
	w := l.wrappers[p.UID]
	if w == nil {
		w = &wrapper{ran: -1, at: -1, order: orderOf(p)}
		l.wrappers[p.UID] = w
	}
	if w.gone {
		return nil
	}
	return w
}

func orderOf(p *corev1.Pod) inplace.Order {
	o, err := inplace.Parse(p.Annotations[inplace.Annotation])
	if err != nil {
		panic(err)
	}
	return o
}

// isCurrent reports whether the end of a pod's code is of the attempt that its replica is in.
func isCurrent(job *v1beta1.GenericJob, p *corev1.Pod) bool {
	s, m := &job.Status, podstate.NumbersOf(p)
	attempt := int(s.JobAttempt + ledgerRecord(s, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)).Attempt)
	return m.CodeAttempt() == attempt && !m.IsBehind(attempt, barrierIsOpen(job))
}

// endWrapper ends it for good, with its pod.
func (l *Life) endWrapper(p *corev1.Pod) {
	if w := l.wraps(p); w != nil {
		l.forgetHeld(p, w)
		w.gone, w.runs = true, false
	}
}

// works reports whether code of the template's runs in a pod, or will.
func (l *Life) works(p *corev1.Pod) bool {
	if w := l.wraps(p); w != nil {
		return w.runs && !w.died && told(p) == w.ran
	}
	if podstate.RestartsInPlace(p) && p.Status.Phase == corev1.PodPending {
		return orderOf(p).Go >= told(p)
	}
	return codeEnd(p) == nil
}

// podEnded checks that a pod is ended only if its code has, or is of an attempt that is over.
func (t *truth) podEnded(p *corev1.Pod) {
	job, _, _ := t.of(p)
	if t.life.works(p) && (job == nil || told(p) == int(job.Status.JobAttempt+ledgerRecord(&job.Status, p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)).Attempt)) {
		t.violated("a pod was ended that works", "%s", p.Name)
	}
}

// told is the attempt that a pod was last told of.
func told(p *corev1.Pod) int { return podstate.NumbersOf(p).CodeAttempt() }

// attemptOf is the attempt whose code runs in a pod, or ran last.
func (t *truth) attemptOf(p *corev1.Pod) int {
	if w := t.life.wraps(p); w != nil && (w.runs || w.held != nil) {
		return w.ran
	}
	return told(p)
}

// wrapped is what happens to a pod that restarts in place in one step of trouble. It reports whether that was all.
func (l *Life) wrapped(p *corev1.Pod, w *wrapper) bool {
	t := l.tape
	switch {
	case l.losesContainer(w):
		l.loseContainer(p, w)
		return true
	case w.stranded:
		return true
	case w.down:
		if t.Due(3) {
			l.restartContainer(p, w)
		} else {
			l.imageIsGone(p)
		}
		return true
	case w.untold:
		if t.Due(8) {
			l.tellRestart(p, w)
		}
		return !l.follows(p, w)
	case w.held != nil && (t.Chance(30) || l.isHeldTooLong(p, w)):
		l.exitHeld(p, w)
		return true
	case w.waits() && t.Chance(60):
		l.killWaiting(p, w)
		return true
	}
	return !l.follows(p, w)
}

// waits reports whether a wrapper waits for an order.
func (w *wrapper) waits() bool { return !w.runs && w.held == nil }

// killWaiting kills a wrapper that waits.
func (l *Life) killWaiting(p *corev1.Pod, w *wrapper) {
	l.say("%s: its wrapper is killed while it waits", keyOf(p))
	_, _, r := l.truth.of(p)
	r.doubts++
	w.died = true
	l.exitInPlace(p, w, 137)
}

// follows is a wrapper that may see an order, and do one thing that it asks for. It reports whether its code runs.
func (l *Life) follows(p *corev1.Pod, w *wrapper) bool {
	if l.tape.DueIf(orderOf(p).After(w.order), 3) {
		w.take(orderOf(p))
	}
	if l.tape.DueIf(w.order.Attempt > w.ran, 2) {
		l.obeyOrder(p, w)
	}
	return w.runs
}

// obeyOrder does one thing that the order asks for.
func (l *Life) obeyOrder(p *corev1.Pod, w *wrapper) {
	switch {
	case w.order.Attempt <= w.ran:
	case w.runs && l.slow && l.trouble && !l.tape.Chance(10): // it takes its grace period
	case w.runs:
		l.say("%s: its code of attempt %d is stopped", keyOf(p), w.ran)
		w.runs = false
	default:
		w.at, w.held, w.heard = w.order.Attempt, nil, false
		if w.order.Go >= w.order.Attempt {
			w.ran, w.runs, w.jobAttempt = w.order.Attempt, true, int32(w.order.JobAttempt)
			l.say("%s: its code of attempt %d, job attempt %d runs", keyOf(p), w.ran, w.jobAttempt)
			l.truth.codeStarted(p, w)
		}
	}
}

// exitInPlace ends the container of a pod, which the kubelet will start again: it tells so, or has done it when it tells.
func (l *Life) exitInPlace(p *corev1.Pod, w *wrapper, code int32) {
	l.truth.ended(p, code)
	l.exitContainer(p, w, code)
}

// exitContainer does that to code whose end is known.
func (l *Life) exitContainer(p *corev1.Pod, w *wrapper, code int32) {
	l.say("kubelet: the container of %s exits with code %d, for the %d. time", keyOf(p), code, w.exits+1)
	w.mute = w.waits()
	w.runs, w.down, w.held, w.heard, w.untold = false, true, nil, false, false
	w.exits++
	l.change(p, func(p *corev1.Pod) {
		end := ended(p, code, l.clockOf(p))[0].State.Terminated
		s := &p.Status.ContainerStatuses[0]
		if l.tape.Chance(2) {
			s.State = corev1.ContainerState{Terminated: end}
			l.truth.mayPassForStranded(p, code)
			return
		}
		s.State, s.LastTerminationState = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, corev1.ContainerState{Terminated: end}
	})
}

// restartContainer is the kubelet that starts a container again. Its wrapper may answer before the kubelet has told so.
func (l *Life) restartContainer(p *corev1.Pod, w *wrapper) {
	l.say("kubelet: the container of %s is started again", keyOf(p))
	w.down, w.at = false, w.ran
	l.raisesAgain(p, w)
	if w.untold = l.trouble && isLost(p) && l.tape.Chance(2); !w.untold {
		l.tellRestart(p, w)
	}
}

// tellRestart is the kubelet that tells so.
func (l *Life) tellRestart(p *corev1.Pod, w *wrapper) {
	w.untold = false
	l.change(p, func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		if s.State.Terminated != nil {
			s.LastTerminationState = corev1.ContainerState{Terminated: s.State.Terminated}
		}
		s.State, s.RestartCount = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: l.clockOf(p)}}, int32(w.exits+w.extra)
	})
}

// waitsCalmly is what happens to a pod in a calm step if it restarts in place. It reports whether it has no code that runs.
func (l *Life) waitsCalmly(p *corev1.Pod) bool {
	w := l.wraps(p)
	return w != nil && (codeEnd(p) == nil || w.down || w.untold) && !l.wrappedCalmly(p, w)
}

// wrappedCalmly is what happens to such a pod when there is no trouble. It reports whether its code runs.
func (l *Life) wrappedCalmly(p *corev1.Pod, w *wrapper) bool {
	if isTold(p) {
		l.endTold(p)
		return false
	}
	switch {
	case w.stranded:
		return false
	case w.untold:
		l.tellRestart(p, w)
		return false
	case w.down:
		l.restartContainer(p, w)
		return false
	case w.held != nil && l.isHeldTooLong(p, w):
		l.exitHeld(p, w)
		return false
	}
	w.take(orderOf(p))
	l.obeyOrder(p, w)
	return w.runs
}

// endTold is the kubelet that ends a pod whose deadline is over.
func (l *Life) endTold(p *corev1.Pod) {
	l.say("kubelet: ends %s", keyOf(p))
	l.endWrapper(p)
	if l.tape.spare(2, 2) {
		l.failFirst(p)
	}
	l.change(p, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		endBeside(p, l.clockOf(p))
		if codeEnd(p) == nil {
			p.Status.ContainerStatuses = append(ended(p, 143, l.clockOf(p)), besideCode(p)...)
		}
	})
}

// codeStarted checks what must hold when code is started in a pod that restarts in place.
func (t *truth) codeStarted(p *corev1.Pod, w *wrapper) {
	t.madeIn[p.UID] = w.jobAttempt
	job, rec, r := t.of(p)
	if job == nil || t.late[p.UID] {
		return
	}
	if r.hasFinished(rec) && policyIn(job, p) != v1beta1.RestartAlways {
		t.violated("a finished rank is restarted", "%s in attempt %d", p.Name, w.ran)
	}
	if job.Spec.RestartScope == v1beta1.RestartScopeJob {
		t.checkJobAttempts(job, p, w.jobAttempt)
	}
}

// checkJobAttempts checks that no other replica of a job runs code of another job attempt than a pod that begins.
func (t *truth) checkJobAttempts(job *v1beta1.GenericJob, p *corev1.Pod, jobAttempt int32) {
	for _, other := range t.life.api.pods() {
		if other.UID == p.UID || !metav1.IsControlledBy(other, job) || auxiliary(job, other) || t.late[other.UID] || over(other) || other.Labels[v1beta1.LabelDebug] == "true" {
			continue
		}
		if at, runs := t.jobAttemptOf(other); runs && at != jobAttempt {
			t.violated("two job attempts meet", "%s begins job attempt %d, and %s runs in %d", p.Name, jobAttempt, other.Name, at)
		}
	}
}
