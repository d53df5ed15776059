package process

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAProgramIsFoundByItsTagAndStopped(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("only Linux shows the environment of processes")
	}
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	folders := Folders{Pids: t.TempDir(), Logs: t.TempDir()}
	tag := Tag("LOCALCLUSTER_TEST=" + t.TempDir())
	program := Program{Name: "sleep", Path: sleep, Arguments: []string{"100000"}}
	require.NoError(t, Start(folders, tag, program))

	var pid int
	// Between fork and exec the process still shows the environment of the test.
	require.Eventually(t, func() bool { pid = Running(folders, tag, "sleep"); return pid != 0 }, 10*time.Minute, 10*time.Millisecond)
	require.Equal(t, []int{pid}, Find(tag))
	require.True(t, RunsAs(pid, program))
	program.Arguments = []string{"100000", "1"}
	require.False(t, RunsAs(pid, program), "it would be started with other arguments now")
	require.Zero(t, Running(folders, tag+"x", "sleep"), "a pid without our tag is somebody else's")
	require.NoError(t, Stop(t.Context(), []int{pid}, 5*time.Second))
	require.Zero(t, Running(folders, tag, "sleep"))
	require.Empty(t, Find(tag))
}

func TestAReusedPidIsNotOurs(t *testing.T) {
	folders := Folders{Pids: t.TempDir()}
	require.NoError(t, os.WriteFile(folders.pid("x"), []byte(strconv.Itoa(os.Getpid())), 0o644))
	require.Zero(t, Running(folders, "LOCALCLUSTER_TEST=none", "x"))
}

func TestStateOf(t *testing.T) {
	for stat, want := range map[string]string{
		"12 (etcd) S 1 2":     "S",
		"12 (a) Z (b) R 1 2":  "R",
		"12 (defunct) Z 1 12": "Z",
		"":                    "",
	} {
		require.Equal(t, want, stateOf(stat), stat)
	}
}

func TestLockWaitsForItsHolderAndSaysSo(t *testing.T) {
	path := t.TempDir() + "/x.lock"
	unlock, err := Lock(t.Context(), path, io.Discard, "nobody")
	require.NoError(t, err)
	var free atomic.Bool
	holder := &patient{then: func() {
		time.AfterFunc(100*time.Millisecond, func() {
			free.Store(true)
			unlock()
		})
	}}
	again, err := Lock(t.Context(), path, holder, "the first")
	require.NoError(t, err)
	again()
	require.True(t, free.Load())
	require.Equal(t, []string{"waiting for the first (lock " + path + ")\n"}, holder.told)
}

// patient holds a lock until it was told that somebody waits for it.
type patient struct {
	told []string
	then func()
}

// Write implements io.Writer.
func (p *patient) Write(text []byte) (int, error) {
	if p.told = append(p.told, string(text)); len(p.told) == 1 {
		p.then()
	}
	return len(text), nil
}
