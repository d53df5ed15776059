package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// grace is how long a program may take to end, until it is asked again.
const grace = 5 * time.Second

// program prepares a go command which ends with its context, and with it all that it has started. Terminals interrupt process
// groups: this one has its own, so that nothing but Cancel ends it.
func program(ctx context.Context, folder string, arguments ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Dir, c.Stderr, c.WaitDelay = folder, os.Stderr, grace
	c.Env = c.Environ() // with PWD; others are appended
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error {
		end(append(descendants(c.Process.Pid), -c.Process.Pid))
		return nil
	}
	return c
}

// output runs a program and returns what it printed.
func output(c *exec.Cmd) (string, error) {
	var text strings.Builder
	c.Stdout = &text
	err := c.Run()
	return text.String(), err
}

// end asks processes to end, first politely, so that go removes its temporary folder. A negative number is a process group.
func end(processes []int) {
	for _, ask := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		for _, pid := range processes {
			_ = syscall.Kill(pid, ask)
		}
		for waited := time.Duration(0); waited < grace && anyLives(processes); waited += grace / 100 {
			time.Sleep(grace / 100)
		}
	}
}

func anyLives(processes []int) bool {
	for _, pid := range processes {
		if syscall.Kill(pid, 0) == nil {
			return true
		}
	}
	return false
}

// descendants returns the processes that a process has started, and theirs: a test's apiserver is in a group of its own.
// They are known where there is /proc.
func descendants(parent int) (found []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	children := map[int][]int{}
	for _, stat := range stats {
		raw, err := os.ReadFile(stat)
		if err != nil {
			continue // it has ended
		}
		// 4711 (name) S 4710 ...: the name may have spaces and parentheses.
		text := string(raw)
		fields := strings.Fields(text[strings.LastIndex(text, ")")+1:])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		if of, err := strconv.Atoi(fields[1]); err == nil {
			children[of] = append(children[of], pid)
		}
	}
	found = children[parent]
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i]]...)
	}
	return found
}

// busyLoop is the argument with which this program is a busy loop.
const busyLoop = "busy-loop"

// burn takes all the time of a core until its input ends. So it ends with the program that started it, whatever ends that.
func burn(input io.Reader) {
	var ended atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, input)
		ended.Store(true)
	}()
	for !ended.Load() {
	}
}

// startLoops starts busy loops; the function that it returns ends them.
func startLoops(number int) (func(), error) {
	var stops []func()
	stop := func() {
		for _, stop := range stops {
			stop()
		}
	}
	self, err := os.Executable()
	if err != nil {
		return stop, fmt.Errorf("find this program, to start busy loops: %w", err)
	}
	for range number {
		loop := exec.Command(self, busyLoop)
		input, err := loop.StdinPipe()
		if err == nil {
			err = loop.Start()
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("start a busy loop: %w", err)
		}
		stops = append(stops, func() {
			_ = input.Close()
			_ = loop.Wait()
		})
	}
	return stop, nil
}
