package main

import (
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// patience is how long a child may take to end once it was asked to, until it is killed. An apt-get that it waits for has a group
// of its own and goes on.
const patience = 20 * time.Second

// inGroup has a command end with its context, and with it all that it has started: `go run` that is killed tells nobody. What
// is to outlive the demo, the cluster, has sessions of its own.
func inGroup(command *exec.Cmd) *exec.Cmd {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return endGroup(command.Process.Pid, patience) }
	return command
}

// endGroup returns once no process of the group is left. Zombies whose parent has not asked for them count as left; those of
// the demo's own children are reaped by who waits for them.
func endGroup(leader int, within time.Duration) error {
	_ = syscall.Kill(-leader, syscall.SIGTERM)
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !groupLives(leader) {
			return nil
		}
	}
	_ = syscall.Kill(-leader, syscall.SIGKILL)
	return nil
}

func groupLives(leader int) bool { return syscall.Kill(-leader, 0) == nil }

// shellWord returns text as one word of a shell, for lines that a person copies.
func shellWord(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
