package run

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/genericjob/genericjob/apis/inplace"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2): processes whose parents have ended become ours. Without it only process 1 gets them,
// which a wrapper is not in a pod that shares its processes.
const prSetChildSubreaper = 36

func becomeReaper() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become a reaper of processes: %w", errno)
	}
	return nil
}

// attributes returns those of the command's process. The process has a group of its own, so that a signal reaches all of it, and the terminal, if
// there is one.
func attributes(env []string, files []uintptr) *syscall.ProcAttr {
	sys := &syscall.SysProcAttr{Setpgid: true}
	if isTerminal() {
		sys.Foreground, sys.Ctty = true, 0
	}
	return &syscall.ProcAttr{Env: env, Files: files, Sys: sys}
}

// isTerminal reports whether standard input is a terminal.
func isTerminal() bool {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	name, err := os.Readlink("/proc/self/fd/0")
	return err == nil && (strings.HasPrefix(name, "/dev/pts/") || strings.HasPrefix(name, "/dev/tty") || name == "/dev/console")
}

// isCharacterDevice reports whether a file is a terminal, or a device of another kind.
func isCharacterDevice(f *os.File) bool {
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

// process is one that descends from the wrapper.
type process struct {
	pid, parent, group int
	name               string // as the kernel knows it: of at most 15 bytes
	spared             bool   // an agent above it asks it to end
}

// descendants returns all living processes that descend from the wrapper, parents first, whatever sessions and groups they have made.
// Those of `kubectl exec` do not.
func descendants() (list []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, alive := readProcess(pid); alive {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	list = children[os.Getpid()]
	for i := 0; i < len(list); i++ {
		parent := list[i]
		for _, p := range children[parent.pid] {
			p.spared = parent.spared || parent.name == inplace.AgentName
			list = append(list, p)
		}
	}
	return list
}

// readProcess reads /proc/<pid>/stat, whose second field may hold anything, in brackets. A process that has ended and waits to be
// collected is not alive.
func readProcess(pid int) (p process, alive bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return p, false
	}
	var state string
	p.pid, p.name = pid, string(text[from+1:to])
	if _, err := fmt.Sscan(string(text[to+1:]), &state, &p.parent, &p.group); err != nil {
		return p, false
	}
	return p, state != "Z"
}

const (
	// maxNamed is how many processes the log names.
	maxNamed = 5
	// maxName is how many bytes it tells of a process's command.
	maxName = 60
)

// names returns what the log calls processes.
func names(list []process) string {
	var texts []string
	for _, p := range list[:min(len(list), maxNamed)] {
		texts = append(texts, fmt.Sprintf("%q (pid %d)", p.command(), p.pid))
	}
	if more := len(list) - maxNamed; more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, ", ")
}

// command returns a process's program with its first argument, which is the script of an interpreter. It leaves out options, and
// what follows: these may hold secrets.
func (p process) command() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
	args := strings.Split(string(text), "\x00")
	if args[0] == "" {
		return p.name
	}
	name := filepath.Base(args[0])
	if len(args) > 1 && args[1] != "" && !strings.HasPrefix(args[1], "-") {
		name += " " + args[1]
	}
	return name[:min(len(name), maxName)]
}

// killAll kills what is left of the command.
func killAll() {
	for _, p := range descendants() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
