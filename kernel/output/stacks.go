package output

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stacks. The wrapper makes code that hangs print the stacks of its threads. Python prints the innermost frame first. Code that waits in a collective
// hangs because a peer does not come to it.

const (
	// HangCode is the exit code of a wrapper whose code hangs; timeout(1) has the same.
	HangCode = 124
	// HangBegins begins the wrapper's message about a hang.
	HangBegins = "heartbeat: "
)

// silence matches the part of that message which says how long there was no sign of life.
var silence = regexp.MustCompile(` (?:for|within) (\d+) s (?:\(steadySeconds\)|of the start \(startupSeconds\))`)

// Silence returns how long a wrapper had seen no sign of life, by its message about a hang; 0 if the message does not tell.
func Silence(said string) time.Duration {
	m := silence.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseInt(m[1], 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

// waitsForPeer says why code hangs that is in a collective.
const waitsForPeer = "it waits for a peer"

var (
	// thread begins the stack of a thread. https://github.com/python/cpython/blob/v3.13.0/Python/traceback.c
	thread = regexp.MustCompile(`^(?:Current thread|Thread) 0x[0-9a-f]+.* \(most recent call first\):$`)
	// called is a frame in it.
	called = regexp.MustCompile(`^  File "([^"]+)", line (\d+) in (.+)$`)
)

// A function of these packages waits for peers, or tells how a peer's end has ended a collective. Code goes on while it is asked for its
// stacks. https://github.com/pytorch/pytorch/tree/v2.6.0/torch/distributed
const (
	collectives = "/torch/distributed/"
	parallel    = "/torch/nn/parallel/distributed.py"
)

// launcher is the program of torchrun. https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/run.py
const launcher = "/torch/distributed/run.py"

// call is a frame in a stack.
type call struct{ file, line, function string }

// Hangs reads where code hangs that has printed its stacks: the frame in the user's own code, and whether it waits there for a peer. Of
// several processes it tells of one that waits for nobody, if there is one. The result is empty if it finds no stack.
func Hangs(output string) Failure {
	var f Failure
	for _, stack := range stacks(strings.Split(output, "\n")) {
		i := slices.IndexFunc(stack, func(c call) bool { return !elsewhere.MatchString(c.file) })
		if i < 0 || slices.ContainsFunc(stack, func(c call) bool { return strings.HasSuffix(c.file, launcher) }) {
			continue
		}
		own, follows := stack[i], ""
		if strings.Contains(stack[0].file, parallel) || slices.ContainsFunc(stack[:i], func(c call) bool { return strings.Contains(c.file, collectives) }) {
			follows = waitsForPeer
		}
		if f.Frame == "" || f.Follows != "" && follows == "" {
			f = Failure{Frame: own.file + ":" + own.line + ", in " + own.function, Follows: follows}
		}
	}
	f.bound()
	return f
}

// stacks returns those that begin where a program does: other threads wait for work. A program begins in a module, and a name in brackets stands for
// what is no file.
func stacks(lines []string) (list [][]call) {
	var now []call
	for _, line := range lines {
		line = strings.TrimRight(line, "\r")
		line = line[len(prefix.FindString(line)):]
		if thread.MatchString(line) {
			now = nil
			continue
		}
		c := called.FindStringSubmatch(line)
		if c == nil {
			continue
		}
		now = append(now, call{c[1], c[2], c[3]})
		if c[3] == "<module>" && !strings.HasPrefix(c[1], "<") {
			list = append(list, now)
			now = nil
		}
	}
	return list
}
