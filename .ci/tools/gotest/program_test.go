package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// started runs the program itself in a tiny checkout.
func started(t *testing.T, checkout string, arguments ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	// Whoever runs these tests by nohup ignores SIGHUP; what a process has a handler for is as ever in its children.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// As make and go run do, bash waits for it.
	c := exec.CommandContext(ctx, "bash", append([]string{"-c", `"$0" "$@"; exit $?`, os.Args[0], "-checkout", checkout}, arguments...)...)
	c.Env = append(os.Environ(), "AS_GOTEST=1")
	var text bytes.Buffer
	c.Stdout, c.Stderr = &text, &text
	require.NoError(t, c.Start())
	return c, &text
}

func TestTwoRunsAtOnceDisturbNeither(t *testing.T) {
	checkout := tiny(t)
	first, said := started(t, checkout)
	second, also := started(t, checkout)
	require.NoError(t, first.Wait(), "%s", said)
	require.NoError(t, second.Wait(), "%s", also)
}

// leaves writes its process and that of a child, which has a process group of its own as envtest's apiserver has. flakes runs
// it twice at once, in one folder.
const leaves = `func TestLeaves(t *testing.T) {
	child := exec.Command("sleep", "100000")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil { t.Fatal(err) }
	text := fmt.Sprintln(os.Getpid(), child.Process.Pid)
	writing := fmt.Sprint("writing-", os.Getpid())
	if err := os.WriteFile(writing, []byte(text), 0o600); err != nil { t.Fatal(err) }
	if err := os.Rename(writing, "pids"); err != nil { t.Fatal(err) }
	select {}
}`

func TestAnInterruptEndsEverythingThatWasStarted(t *testing.T) {
	for name, tc := range map[string]struct {
		signal    syscall.Signal
		parent    bool // it is go run that is killed
		arguments []string
	}{
		"make test, Ctrl-C":             {syscall.SIGINT, false, nil},
		"make test, terminated":         {syscall.SIGTERM, false, nil},
		"make test, hung up":            {syscall.SIGHUP, false, nil},
		"make test, go run is killed":   {syscall.SIGKILL, true, nil},
		"make flakes":                   {syscall.SIGTERM, false, []string{"-flakes"}},
		"make flakes, go run is killed": {syscall.SIGKILL, true, []string{"-flakes"}},
	} {
		t.Run(name, func(t *testing.T) {
			checkout := tiny(t)
			file := filepath.Join(checkout, "e2e/localcluster/x")
			put(t, filepath.Join(file, "leaves_test.go"), "package x\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"os/exec\"\n\t\"syscall\"\n\t\"testing\"\n)\n\n"+leaves+"\n")
			c, said := started(t, checkout, append(tc.arguments, "-packages=localcluster")...)
			until(t, "the test begins", func() bool { return exists(filepath.Join(file, "pids")) })
			text, err := os.ReadFile(filepath.Join(file, "pids"))
			require.NoError(t, err)
			processes := descendants(c.Process.Pid)
			require.NotEmpty(t, processes)
			for _, pid := range strings.Fields(string(text)) {
				number, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.Contains(t, processes, number)
			}
			to := processes[0]
			if tc.parent {
				to = c.Process.Pid
			}
			require.NoError(t, syscall.Kill(to, tc.signal))
			var code *exec.ExitError
			require.ErrorAs(t, c.Wait(), &code, "%s", said)
			require.Contains(t, said.String(), "\nInterrupted after ")
			if !tc.parent {
				require.Equal(t, 1, code.ExitCode(), "%s", said)
			}
			until(t, "all that it started ends", func() bool { return !anyRuns(processes) })
		})
	}
}

// anyRuns leaves out those that have ended and that nobody has asked for.
func anyRuns(processes []int) bool {
	for _, pid := range processes {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil && !strings.Contains(string(raw), ") Z ") {
			return true
		}
	}
	return false
}

func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ask(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, "this did not come: "+what)
		}
	}
}
