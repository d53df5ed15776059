// Package run runs a replica's command by the operator's orders. A pod that does not restart in place has one order, which never changes. One
// goroutine decides (loop). The others only tell it of what happens: ends of processes, signals, questions, signs of life.
//
// The rules:
//   - The wrapper starts the code of an attempt once at most, and only if the order allows it. Only a developer can ask for a second start
//     (developer.go).
//   - An order for a later attempt ends the code that runs. The wrapper reports that attempt as reached when no process of the code is left.
//   - Code that ends by itself ends the wrapper, with its exit code, unless the wrapper holds that end (hold.go). Then the kubelet starts the
//     container again, and the new wrapper waits for an order.
//   - A file in the pod's volume tells the new wrapper what has run before. With an order that never changes, there is no such file: the code starts
//     again.
//
// Begin with wrapper.loop.
package run

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// Exit codes for what cannot be run, as of shells.
const (
	exitUsage    = 2
	exitNoPermit = 126
	exitNotFound = 127
	exitBySignal = 128 // and the signal's number
)

// orderInterval is how often the wrapper reads the order.
const orderInterval = 25 * time.Millisecond

// Main runs the wrapper to its end, and returns its exit code.
func Main(args []string) int {
	w := &wrapper{ends: make(chan os.Signal, 10), signals: make(chan os.Signal, 100)}
	signal.Notify(w.ends, endSignals...) // first of all: the pod may be at its end
	signal.Notify(w.signals)
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	flags.StringVar(&w.dir, "dir", inplace.Dir, "where the order and the state are")
	flags.StringVar(&w.podUID, "pod", "", "the pod's UID")
	flags.DurationVar(&w.grace, "grace", 30*time.Second, "how long code may take to end")
	flags.Func("order", "the order, if it never changes; without this flag the wrapper reads the order from a file", func(text string) error {
		o, err := inplace.Parse(text)
		w.fixedOrder = &o
		return err
	})
	flags.DurationVar(&w.hold, "hold", 0, "how long to wait for an order when code fails in a container that was started again")
	flags.StringVar(&w.messageFile, "termination-message", "", "the file for the container's termination message")
	flags.BoolVar(&w.readsOutput, "read-output", false, "read the last output of code that fails")
	flags.DurationVar(&w.confirmWithin, "confirm-within", confirmTimeout, "how long to obey an order that only came over the network, while no code runs")
	flags.DurationVar(&w.patience, "patience", develop.Patience, "how long to wait for a developer who is silent")
	w.beat.define(flags)
	port := flags.Int("port", inplace.Port, "where to answer with reports")
	if err := flags.Parse(args); err != nil { // which says it
		return exitUsage
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "genericjob wrapper: there is no command to run: want it after --")
		return exitUsage
	}
	w.command = flags.Args()
	err := w.begin(*port)
	if err != nil {
		fmt.Fprintln(os.Stderr, "genericjob wrapper:", err)
		return 1
	}
	code := w.loop()
	w.flushOutput()
	w.keepStep()
	w.writeEnd(code)
	return code
}

// begin reads what has run before in this pod, and listens for who asks.
func (w *wrapper) begin(port int) error {
	if err := becomeReaper(); err != nil {
		return err
	}
	w.stateFile = filepath.Join(w.dir, "state", "run")
	w.memory = memory{Ran: -1}
	if w.fixedOrder == nil { // whoever starts it again then wants the code to be run again
		if err := w.load(); err != nil {
			return err
		}
	}
	w.reachedAttempt, w.Starts, w.startedAt, w.confirmedAt = w.Ran, w.Starts+1, time.Now(), time.Now()
	if err := w.save(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return err
	}
	w.questions = make(chan question)
	go w.serveReports(listener)
	w.restore()
	w.listenForDevelopers()
	return nil
}

// loop decides all. It returns the exit code.
func (w *wrapper) loop() int {
	tick := time.NewTicker(orderInterval)
	defer tick.Stop()
	for {
		w.hearEnd()
		w.obey()
		w.endIfHung()
		w.nameStragglers()
		w.rejectUnconfirmedOrder()
		w.attendDeveloper()
		if w.over { // nothing is heard any more, an order least of all
			return w.exitCode
		}
		select {
		case <-tick.C:
		case <-w.stop.timer:
			w.killRest()
		case <-w.holdExpired:
			w.exitCode, w.over = int(w.heldEnd.Code), true
		case s := <-w.ends:
			w.endWithPod(s.(syscall.Signal))
		case s := <-w.signals:
			w.onSignal(s.(syscall.Signal))
		case q := <-w.questions:
			q.reply <- w.reportOn(q)
		case q := <-w.developerRequests:
			w.handleDeveloper(q)
		}
		if code, over := w.reap(); over {
			return code
		}
	}
}

// obey does what the order says: it ends the code of an earlier attempt, and starts that of the present one.
func (w *wrapper) obey() {
	o, err := w.order()
	if err != nil || w.podEnds || w.hung || w.draining {
		return // the volume may be in the middle of a change, or processes at their end: look again
	}
	switch {
	case w.child != 0 && o.Attempt > w.Ran:
		w.stopWithin(w.grace)
	case w.child == 0 && w.hasYetToRun(o):
		w.reachedAttempt = o.Attempt
		w.forgetHeldEnd()
		if o.Go >= o.Attempt && !w.awaitsStart() {
			w.start(o)
		}
	}
}

// hasYetToRun reports whether the code of an order's attempt has not run yet, or is to begin again.
func (w *wrapper) hasYetToRun(o inplace.Order) bool {
	return o.Attempt > w.Ran || w.mustRunAgain && o.Attempt == w.Ran
}

// start runs the command for an attempt. The wrapper first saves the attempt in its memory. It runs the command twice for one attempt only if a
// developer asks for that.
func (w *wrapper) start(o inplace.Order) {
	if w.mustRunAgain && o.Attempt == w.Ran {
		w.say("attempt %d begins again, as a developer has asked", o.Attempt)
	}
	w.Ran, w.Developed, w.mustRunAgain = o.Attempt, w.Developed || w.mustRunAgain, false
	w.noteStep()
	w.dropOutput()
	if err := w.save(); err != nil {
		w.fail(1, err)
		return
	}
	command := expand(w.command, o)
	path, err := exec.LookPath(command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		w.fail(exitOf(err), err)
		return
	}
	files, err := w.watchSigns()
	if err != nil {
		w.fail(1, err)
		return
	}
	w.child, err = syscall.ForkExec(path, command, attributes(expand(w.environment(), o), files))
	w.closeWriteEnds()
	w.codeStartedAt = time.Now()
	if err != nil {
		w.child = 0
		w.fail(exitOf(err), err)
	}
}

// environment returns the environment of the command. With a heartbeat, Python prints at once, and can print where it hangs.
func (w *wrapper) environment() []string {
	env := os.Environ()
	if !w.beat.isOn() {
		return env
	}
	for _, name := range []string{"PYTHONFAULTHANDLER", "PYTHONUNBUFFERED"} {
		if _, isSet := os.LookupEnv(name); !isSet {
			env = append(env, name+"=1")
		}
	}
	return env
}

func exitOf(err error) int {
	if errors.Is(err, os.ErrPermission) {
		return exitNoPermit
	}
	return exitNotFound
}

// fail ends the wrapper because the command cannot be run.
func (w *wrapper) fail(code int, err error) {
	fmt.Fprintf(os.Stderr, "genericjob wrapper: %v\n", err)
	w.exitCode, w.over = code, true
}

// reap collects processes that have ended, also those whose parents have left them to us. It reports whether the wrapper is to
// end, and with which exit code.
func (w *wrapper) reap() (code int, over bool) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			break
		}
		if pid == w.child {
			w.childEnded(codeOf(status))
		}
	}
	w.finishStop()
	return w.exitCode, w.over
}

func codeOf(s syscall.WaitStatus) int {
	if s.Signaled() {
		return exitBySignal + int(s.Signal())
	}
	return s.ExitStatus()
}
