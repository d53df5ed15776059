package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2): processes whose parents have ended become ours, also where we are not
// process 1, as in a pod that shares its processes.
const prSetChildSubreaper = 36

func becomeReaper() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return fmt.Errorf("become a reaper of processes: %w", errno)
	}
	return nil
}

// attributes are those of the command's process: a group of its own, so that a signal reaches all of it, and the terminal, if there
// is one.
func attributes(env []string, files []uintptr) *syscall.ProcAttr {
	sys := &syscall.SysProcAttr{Setpgid: true}
	if isTerminal() {
		sys.Foreground, sys.Ctty = true, 0
	}
	return &syscall.ProcAttr{Env: env, Files: files, Sys: sys}
}

// isTerminal says whether standard input is a terminal.
func isTerminal() bool {
	info, err := os.Stdin.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	_, err = syscall.Getpgid(0)
	name, linkErr := os.Readlink("/proc/self/fd/0")
	return err == nil && linkErr == nil && (strings.HasPrefix(name, "/dev/pts/") || strings.HasPrefix(name, "/dev/tty") || name == "/dev/console")
}

// descendants says whether processes are left that came from ours. Those of `kubectl exec` did not.
func descendants() bool { return len(children()) > 0 }

// children are all processes that descend from this one, whatever sessions and groups they have made.
func children() (list []int) {
	parents := map[int][]int{}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, alive := parentOf(pid); alive {
			parents[parent] = append(parents[parent], pid)
		}
	}
	todo := parents[os.Getpid()]
	for len(todo) > 0 {
		pid := todo[0]
		todo = append(todo[1:], parents[pid]...)
		list = append(list, pid)
	}
	return list
}

// parentOf reads a process's parent from /proc/<pid>/stat, whose second field may hold anything, in brackets. A process that has
// ended and waits to be collected is not alive.
func parentOf(pid int) (parent int, alive bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, err == nil && fields[0] != "Z"
}

// killAll kills what is left of the command.
func killAll() {
	for _, pid := range children() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
