package run_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// torchrun stands for one that closes the rendezvous of all when it hears SIGTERM, and starts a training process in a session of its own.
const torchrun = `
import os, signal, subprocess, sys, time
def told(*_):
    with open(os.environ["LOG"], "a") as f:
        f.write("the rendezvous is closed\n")
    sys.exit(1)
signal.signal(signal.SIGTERM, told)
subprocess.Popen(["sh", "-c", sys.argv[1]], start_new_session=True)
while True:
    time.sleep(0.1)
`

// training are training processes. The program that saves needs a helper to do so, as others need their data loaders.
var training = map[string]string{
	"a program":                          `exec sh "$SAVES"`,
	"a program that a shell has started": `sh "$SAVES"; echo never >> $LOG`,
	"a program that is in a session":     `setsid sh "$SAVES" & wait; echo never >> $LOG`,
}

const savesWithHelper = `sh -c 'trap "grep -q saved $LOG || echo a helper is told >> $LOG; exit" TERM; while :; do sleep 0.05; done' &
trap "sleep 1; echo saved >> $LOG; exit 0" TERM
echo begins >> $LOG
while :; do sleep 0.05; done`

// agent returns the command that starts torchrun in elastic jobs, and the file of the program that saves.
func agent(t *testing.T, p *pod, script string) (command []string, env string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on this machine")
	}
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "translators", "pytorch", "scripts", "agent.py"))
	require.NoError(t, err)
	store, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	file := filepath.Join(p.dir, "saves.sh")
	require.NoError(t, os.WriteFile(file, []byte(savesWithHelper), 0o600))
	return []string{python, "-c", string(source), store.Addr().String(), python, "-c", torchrun, script}, "SAVES=" + file
}

func TestTorchrunIsNotAskedToEndWhereAnAgentDoes(t *testing.T) {
	for name, script := range training {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			command, env := agent(t, p, script)
			c := p.wrap([]string{"-grace=1m"}, command...)
			c.Env = append(c.Env, env)
			p.run(c)
			p.awaitLog("begins")
			p.order(1, 0, 1)
			p.awaitReport(1, 0)
			require.Equal(t, "begins; saved", p.logged(), "at a restart in place")
			p.order(1, 1, 1)
			p.awaitLog("begins; saved; begins")
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			require.Equal(t, 143, code(t, c))
			require.Equal(t, "begins; saved; begins; saved", p.logged(), "at the end of the pod")
		})
	}
}

func TestTorchrunIsNotAskedToEndWithoutAWrapperEither(t *testing.T) {
	for name, script := range training {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			command, env := agent(t, p, script)
			c := exec.Command(command[0], command[1:]...)
			c.Env = append(os.Environ(), "LOG="+p.log, env)
			c.Stderr = os.Stderr
			require.NoError(t, c.Start())
			t.Cleanup(func() { _ = c.Process.Kill() })
			p.awaitLog("begins")
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			require.Equal(t, 143, code(t, c))
			require.Equal(t, "begins; saved", p.logged())
		})
	}
}

// A script has the name of its file.
func TestWhatAnAgentLeavesBehindIsAskedToEnd(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	file := filepath.Join(p.dir, "gj-agent")
	script := "#!/bin/sh\n" + strings.ReplaceAll(around["the program is in a session"], "; echo never >> $LOG", "")
	require.NoError(t, os.WriteFile(file, []byte(script), 0o700))
	p.run(p.wrap([]string{"-grace=1m"}, file))
	p.awaitLog("begins")
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	require.Equal(t, "begins; saved", p.logged())
}
