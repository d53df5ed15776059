package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program may begin a session of its own between the look at all processes and the signal to the command's group. It held the stop for
// all of the grace period.
func TestWhoLeavesTheGroupDuringAStopIsAskedToEnd(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command("sh", "-c", `sh -c 'while [ ! -e go ]; do sleep 0.05; done; exec setsid sleep 1000' & wait`)
	c.Dir = dir
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	var found []process
	program := func() int {
		return slices.IndexFunc(found, func(p process) bool { return p.parent == c.Process.Pid })
	}
	require.Eventually(t, func() bool { found = descendants(); return program() >= 0 }, 5*time.Minute, 20*time.Millisecond)
	pid := found[program()].pid
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })

	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	require.Eventually(t, func() bool { group, err := syscall.Getpgid(pid); return err == nil && group == pid }, 5*time.Minute, 20*time.Millisecond)
	(&wrapper{child: c.Process.Pid}).signalAll(found, syscall.SIGTERM)
	require.Error(t, c.Wait())
	require.Eventually(t, func() bool { _, alive := readProcess(pid); return !alive }, 5*time.Minute, 20*time.Millisecond)
}
