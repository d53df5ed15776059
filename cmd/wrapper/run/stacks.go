package run

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/genericjob/genericjob/apis/inplace"
)

const (
	// dumpTime is how long all processes may take to say where they hang, and answerTime how long one may keep the others waiting. On a machine that is
	// busy it takes seconds until a process runs.
	dumpTime   = 30 * time.Second
	answerTime = 10 * time.Second
	// lookInterval is how often to look whether a process has ended.
	lookInterval = 5 * time.Millisecond
)

// dumpStacks stops all processes, so that none reacts to the end of another: a launcher would tell its peers. Then it has one after another print the
// stacks of its threads, where it knows how. Children are asked before their parents: a child may end with its parent.
func dumpStacks(list []process) {
	for _, p := range list {
		_ = syscall.Kill(p.pid, syscall.SIGSTOP)
	}
	deadline := time.Now().Add(dumpTime)
	for _, p := range slices.Backward(list) {
		if s := p.dumpSignal(); caughtSignals(p.pid)&(1<<(uint(s)-1)) != 0 && p.name != inplace.AgentName && time.Now().Before(deadline) {
			dumpStack(p.pid, s)
		}
	}
}

// dumpSignal returns the signal on which a process prints its stacks, if it catches it: Python's faulthandler does so, and Go. To a launcher SIGQUIT
// may be an order to end.
func (p process) dumpSignal() syscall.Signal {
	if p.name == "java" {
		return syscall.SIGQUIT
	}
	return syscall.SIGABRT
}

// dumpStack has a process go on with a signal, and waits until it has ended, but not for long.
func dumpStack(pid int, s syscall.Signal) {
	preventCoreDump(pid)
	_ = syscall.Kill(pid, s)
	_ = syscall.Kill(pid, syscall.SIGCONT)
	for deadline := time.Now().Add(answerTime); time.Now().Before(deadline); time.Sleep(lookInterval) {
		if _, alive := readProcess(pid); !alive {
			return
		}
	}
}

// caughtSignals returns the set of signals that a process catches, signal 1 being the lowest bit.
func caughtSignals(pid int) (set uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			set, _ = strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		}
	}
	return set
}

// preventCoreDump keeps a process that ends by a signal from writing all its memory to a disk. A limit of 1 byte, other than 0, also
// keeps it from being piped to a program of the node's; see core(5).
func preventCoreDump(pid int) {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_CORE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0) //nolint:gosec // the kernel only reads it
}
