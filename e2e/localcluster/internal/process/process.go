package process

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Tag is an environment entry (NAME=value) that all our processes carry.
type Tag string

// Program is one long-running program.
type Program struct {
	Name      string
	Path      string
	Arguments []string
	// Environment is all that the program gets, but for the tag.
	Environment []string
}

// Folders is where the traces of programs are kept.
type Folders struct {
	Pids, Logs string
}

// Log is the file that holds a program's output.
func (f Folders) Log(name string) string { return filepath.Join(f.Logs, name+".log") }

func (f Folders) pid(name string) string { return filepath.Join(f.Pids, name+".pid") }

// Start runs the program in a session of its own, so that it survives the
// caller and its terminal.
func Start(folders Folders, tag Tag, program Program) error {
	log, err := os.OpenFile(folders.Log(program.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", program.Name, err)
	}
	defer log.Close()
	command := exec.Command(program.Path, program.Arguments...)
	command.Env = append(slices.Clone(program.Environment), string(tag))
	command.Dir = "/"
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program.Name, err)
	}
	// Reaps the process should it end while we run, so that it does not look alive.
	go func() { _ = command.Wait() }()
	pid := strconv.Itoa(command.Process.Pid)
	if err := os.WriteFile(folders.pid(program.Name), []byte(pid+"\n"), 0o644); err != nil {
		return fmt.Errorf("write the pid file of %s: %w", program.Name, err)
	}
	awaitTag(command.Process.Pid, tag)
	return nil
}

// awaitTag waits for the kernel to show the environment of a process that has just been started. Until then we would
// take the process for somebody else's.
func awaitTag(pid int, tag Tag) {
	for range 200 {
		if tagged(pid, tag) || !Alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Running returns the program's pid, or 0 if it does not run.
func Running(folders Folders, tag Tag, name string) int {
	content, err := os.ReadFile(folders.pid(name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil || !Alive(pid) || !tagged(pid, tag) {
		return 0
	}
	return pid
}

// RunsAs reports whether a process was started as this program would be now: by the same path, with the same arguments.
func RunsAs(pid int, program Program) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	line := append([]string{program.Path}, program.Arguments...)
	return string(content) == strings.Join(line, "\x00")+"\x00"
}

// Forget removes the trace of a program that was ended on purpose.
func Forget(folders Folders, name string) error {
	if err := os.Remove(folders.pid(name)); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("remove the pid file of %s: %w", name, err)
	}
	return nil
}

// Find returns all processes with the tag, in no special order.
func Find(tag Tag) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var found []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && pid != os.Getpid() && tagged(pid, tag) && Alive(pid) {
			found = append(found, pid)
		}
	}
	return found
}

func tagged(pid int, tag Tag) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for _, entry := range bytes.Split(content, []byte{0}) {
		if string(entry) == string(tag) {
			return true
		}
	}
	return false
}

// Alive is false for a zombie as well: it waits for its parent alone and holds nothing.
func Alive(pid int) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return stateOf(string(content)) != "Z"
}

// stateOf reads behind the last bracket, as a program's name may hold anything.
func stateOf(stat string) string {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// Stop asks the processes to end, waits for at most grace and then kills them.
func Stop(ctx context.Context, pids []int, grace time.Duration) error {
	signal(pids, syscall.SIGTERM)
	if gone(ctx, pids, grace) {
		return nil
	}
	return Kill(ctx, pids)
}

// Kill ends the processes without asking.
func Kill(ctx context.Context, pids []int) error {
	signal(pids, syscall.SIGKILL)
	if gone(ctx, pids, 2*time.Minute) {
		return nil
	}
	return fmt.Errorf("processes %v outlived SIGKILL for 2 min: look at /proc/<pid>/stack, then try again", living(pids))
}

func signal(pids []int, with syscall.Signal) {
	for _, pid := range living(pids) {
		// An error means that it has just ended, which is what we want.
		_ = syscall.Kill(pid, with)
	}
}

func gone(ctx context.Context, pids []int, within time.Duration) bool {
	deadline := time.Now().Add(within)
	for len(living(pids)) > 0 {
		if time.Now().After(deadline) || Sleep(ctx, 50*time.Millisecond) != nil {
			return false
		}
	}
	return true
}

func living(pids []int) []int {
	var alive []int
	for _, pid := range pids {
		if Alive(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}
