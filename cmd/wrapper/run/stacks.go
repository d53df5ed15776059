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
)

// dumpTime is how long processes may take to say where they hang.
const dumpTime = 3 * time.Second

// dumpStacks has processes print the stacks of their threads, where they know how: on SIGQUIT, as Go and Java do, or on SIGABRT, as
// Python's faulthandler does. What a process does not catch is not sent: it would only end it, and perhaps its children with it,
// before those have answered. Who began last is asked first.
func dumpStacks(list []process) {
	for _, p := range slices.Backward(list) {
		pid := p.pid
		caught := caughtSignals(pid)
		for _, s := range []syscall.Signal{syscall.SIGQUIT, syscall.SIGABRT} {
			if caught&(1<<(uint(s)-1)) != 0 {
				withoutCore(pid)
				_ = syscall.Kill(pid, s)
				break
			}
		}
	}
}

// caughtSignals is the set of signals that a process catches, signal 1 being the lowest bit.
func caughtSignals(pid int) (set uint64) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, "SigCgt:"); is {
			set, _ = strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		}
	}
	return set
}

// withoutCore keeps a process that ends by a signal from writing all its memory to a disk. A limit of 1 byte, other than 0, also
// keeps it from being piped to a program of the node's; see core(5).
func withoutCore(pid int) {
	limit := syscall.Rlimit{Cur: 1, Max: 1}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_CORE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0) //nolint:gosec // the kernel only reads it
}
