package run

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/genericjob/genericjob/kernel/output"
)

// Stopping. When code is to end, because of an order or with the pod, all its processes are asked to, in whatever session they run. Each of them has
// the grace period: a shell may end at once, and leave behind the program that saves a checkpoint. Each process is asked once. A process that starts
// later is not asked, because it may be the one that saves. The log names the processes that a stop still waits for.

// slowStop is how long a stop may take before the log names the processes that it waits for.
const slowStop = time.Second

var (
	// ownSignals are the wrapper's, and those that Go sends itself. The wrapper may miss some SIGCHLD: it reaps in each turn of its loop.
	ownSignals = []os.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE}
	// endSignals ask the pod to end. They have a channel of their own: a channel that is full loses signals, and others come in floods.
	endSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT}
)

// stopWithin asks the code to end, because of an order or for a developer. What is left of it after this time is killed.
func (w *wrapper) stopWithin(limit time.Duration) {
	if w.stopping {
		return
	}
	w.stopping, w.stop.limit = true, limit
	w.stop.timer = time.After(limit)
	w.signal(syscall.SIGTERM)
}

// signal asks all processes to end, except those that an agent asks itself. The process group of the command gets the signal as a whole, so no
// process in it escapes by a fork. An agent keeps its processes out of that group.
func (w *wrapper) signal(s syscall.Signal) {
	if w.stop.askedAt.IsZero() {
		w.stop.askedAt = time.Now()
	}
	w.signalAll(descendants(), s)
}

// signalAll asks processes that were found a moment ago to end. A process that has left the command's group since then may have missed the group's
// signal.
func (w *wrapper) signalAll(all []process, s syscall.Signal) {
	_ = syscall.Kill(-w.child, s)
	for _, p := range all {
		group, _ := syscall.Getpgid(p.pid)
		switch {
		case p.group == w.child && group == w.child:
		case p.spared:
			w.stop.spared = append(w.stop.spared, p.pid)
		default:
			_ = syscall.Kill(p.pid, s)
		}
	}
}

// signalSpared asks the processes to end that an agent has left behind.
func (w *wrapper) signalSpared() {
	if len(w.stop.spared) == 0 {
		return
	}
	for _, p := range descendants() {
		if slices.Contains(w.stop.spared, p.pid) {
			_ = syscall.Kill(p.pid, syscall.SIGTERM)
		}
	}
	w.stop.spared = nil
}

// onSignal hands a signal to the code, unless it is the wrapper's, or one that the loop hears of by w.ends.
func (w *wrapper) onSignal(s syscall.Signal) {
	if w.child != 0 && !slices.Contains(ownSignals, os.Signal(s)) && !slices.Contains(endSignals, os.Signal(s)) {
		_ = syscall.Kill(-w.child, s)
	}
}

// hearEnd ends the code if a signal has asked the pod to end by now. The loop calls it before it obeys an order: after such a signal, the wrapper
// starts no code any more.
func (w *wrapper) hearEnd() {
	select {
	case s := <-w.ends:
		w.endWithPod(s.(syscall.Signal))
	default:
	}
}

// endWithPod ends the code because the pod ends. If the code takes too long, the kubelet kills it. A second signal does not change the exit code of a
// command that has ended.
func (w *wrapper) endWithPod(s syscall.Signal) {
	again := w.podEnds
	w.podEnds = true
	switch {
	case w.heldEnd != nil:
		w.exitCode, w.over = int(w.heldEnd.Code), true
	case w.child == 0 && again:
	case w.child == 0:
		w.printEarlierOutput()
		w.exitCode, w.over = exitBySignal+int(s), !w.draining // what is left has been asked, and may be saving
	case w.stopping && s == syscall.SIGTERM: // it has been asked already
	default:
		w.signal(s)
	}
}

// childEnded notes that the command has ended. If it ended by itself, the wrapper ends, too, or holds the end. If it was asked to, the wrapper waits
// until no process of it is left: see finishStop.
func (w *wrapper) childEnded(code int) {
	w.child = 0
	switch {
	case w.hung:
		w.draining = true
	case w.podEnds:
		w.exitCode, w.draining = code, true
		if w.stop.timer == nil {
			w.stop.timer = time.After(time.Until(w.stop.askedAt.Add(w.grace)))
		}
	case w.stopping:
		w.draining = true
		if code != 0 && code != exitBySignal+int(syscall.SIGTERM) && !w.mustRunAgain {
			w.noteFailure(code, true)
		}
	case w.endedForDeveloper(code):
		w.say("attempt %d has stopped, with exit code %d, while a developer stops it and its peers: that is no failure", w.Ran, code)
		w.mustRunAgain, w.draining = true, true
	case w.holds(code):
		w.holdEnd(code)
	default:
		w.exitCode, w.over = code, true
	}
	w.signalSpared()
}

// finishStop goes on when the last process of an ended attempt is gone.
func (w *wrapper) finishStop() {
	if !w.draining {
		return
	}
	if rest := descendants(); len(rest) > 0 {
		w.stop.lastSeen = names(rest)
		if w.stop.graceOver || !w.hung && w.stop.askedAt.IsZero() { // those of code that hangs may be saying where, and those that were asked may be saving
			killAll()
		}
		return
	}
	w.sayStopped()
	w.addOutput()
	w.clearTerminationMessage()
	switch {
	case w.hung && w.holds(output.HangCode):
		w.holdEnd(output.HangCode)
	case w.hung:
		w.exitCode, w.over = output.HangCode, true
	case w.podEnds:
		w.over = true
	}
	w.draining, w.stopping, w.hung, w.stop = false, false, false, stopState{}
}

// sayStopped logs that an attempt has ended which was asked to. By that line kubectl gj logs tells the words of an attempt from those of the next in
// its container. Where none follows, it is said only of a slow stop.
func (w *wrapper) sayStopped() {
	if w.stop.askedAt.IsZero() || w.podEnds && !w.stop.hasNamedStragglers {
		return
	}
	if w.readsOutput {
		w.awaitOutput()
	}
	w.say("attempt %d has stopped, %.1f s after it was asked to; last to end: %s", w.Ran, time.Since(w.stop.askedAt).Seconds(), cmp.Or(w.stop.lastSeen, "the command"))
}

// nameStragglers logs, once in each stop, the processes that have not ended soon. At the end of a pod there may be no time to log more.
func (w *wrapper) nameStragglers() {
	if w.stop.hasNamedStragglers || w.stop.askedAt.IsZero() || time.Since(w.stop.askedAt) < slowStop {
		return
	}
	w.stop.hasNamedStragglers = true
	w.say("attempt %d was asked to stop %s ago; it waits for %s", w.Ran, slowStop, names(descendants()))
}

// killRest kills what has not ended in time.
func (w *wrapper) killRest() {
	w.stop.graceOver = true
	if rest := descendants(); !w.hung && len(rest) > 0 {
		limit := w.grace.String() + " ago, its grace period (terminationGracePeriodSeconds)"
		if w.stopping && w.stop.limit < w.grace {
			limit = w.stop.limit.String() + " ago, as long as the developer gives it"
		}
		w.say("attempt %d was asked to stop %s: it kills %s", w.Ran, limit, names(rest))
	}
	killAll()
}

// say writes a line to the container's log.
func (w *wrapper) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "genericjob wrapper: "+format+"\n", args...)
}
