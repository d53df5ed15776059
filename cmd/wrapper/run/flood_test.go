package run_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// block has the wrapper's loop wait for the volume, which does not answer. The volume shows the same order as before once it does.
func (p *pod) block() (unblock func()) {
	p.Helper()
	file := filepath.Join(p.dir, "order", "order")
	mute, next := filepath.Join(p.dir, "order", "mute"), filepath.Join(p.dir, "order", "next")
	order, err := os.ReadFile(file)
	require.NoError(p, err)
	require.NoError(p, os.WriteFile(next, order, 0o600))
	require.NoError(p, syscall.Mkfifo(mute, 0o600))
	require.NoError(p, os.Rename(mute, file))
	var answer *os.File
	p.until("the wrapper reads the order", func() bool {
		answer, err = os.OpenFile(file, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails as long as nobody reads
		return err == nil
	})
	p.Cleanup(func() { _ = answer.Close() })
	return func() {
		require.NoError(p, os.Rename(next, file))
		require.NoError(p, answer.Close())
	}
}

// flood sends more signals than a wrapper keeps.
func flood(signal func(os.Signal)) {
	for range 500 {
		for _, s := range []os.Signal{syscall.SIGCHLD, syscall.SIGURG, syscall.SIGUSR1, syscall.SIGWINCH} {
			signal(s)
		}
		time.Sleep(time.Millisecond) // the kernel keeps one of a kind
	}
}

// sends sends signals to a wrapper.
func sends(t *testing.T, c *exec.Cmd) func(os.Signal) {
	return func(s os.Signal) { require.NoError(t, c.Process.Signal(s)) }
}

// deafToUSR1 is what code begins with that a flood does not end.
const deafToUSR1 = `trap '' USR1; `

func TestAFloodOfSignalsHidesNoEndOfThePod(t *testing.T) {
	type wait = func() int
	starts := func(t *testing.T, p *pod, script string) (wait, func(os.Signal)) {
		c := p.start(deafToUSR1 + script)
		return func() int { return code(t, c) }, sends(t, c)
	}
	for name, tc := range map[string]struct {
		begin func(t *testing.T) (p *pod, exits wait, signal func(os.Signal))
		code  int
		log   string
	}{
		"the code runs": {func(t *testing.T) (*pod, wait, func(os.Signal)) {
			p := newPod(t)
			p.order(0, 0, 0)
			exits, signal := starts(t, p, `trap 'echo told >> $LOG; exit 5' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
			p.awaitLog("begins")
			return p, exits, signal
		}, 5, "begins; told"},
		"the code is being stopped": {func(t *testing.T) (*pod, wait, func(os.Signal)) {
			p := newPod(t)
			p.order(0, 0, 0)
			exits, signal := starts(t, p, `trap 'setsid sh -c "echo told >> \$LOG; while [ ! -e \$LOG.go ]; do sleep 0.05; done; echo saved >> \$LOG" & exit 0' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
			p.awaitLog("begins")
			p.order(1, 1, 1)
			p.awaitLog("begins; told")
			return p, exits, signal
		}, 143, "begins; told; saved"},
		"the wrapper waits at the barrier": {func(t *testing.T) (*pod, wait, func(os.Signal)) {
			p := newPod(t)
			p.order(1, 0, 1)
			exits, signal := starts(t, p, `echo never >> $LOG`)
			p.awaitReport(1, 0)
			return p, exits, signal
		}, 143, ""},
		"the wrapper holds an end": {func(t *testing.T) (*pod, wait, func(os.Signal)) {
			p, exits, signal := secondLife(t, "1h")
			p.awaitHeld()
			return p, exits, signal
		}, 7, "begins 0; begins 1"},
		"a developer has stopped the code": {func(t *testing.T) (*pod, wait, func(os.Signal)) {
			p := newPod(t)
			p.order(0, 0, 0)
			exits, signal := starts(t, p, runsForEver)
			p.awaitLog("begins 0")
			p.visit().does(develop.Ready, develop.Stop)
			return p, exits, signal
		}, 143, "begins 0; told"},
	} {
		t.Run(name, func(t *testing.T) {
			p, exits, signal := tc.begin(t)
			unblock := p.block()
			flood(signal)
			signal(syscall.SIGTERM)
			flood(signal) // until the wrapper has been handed SIGTERM
			unblock()
			p.letGo()
			p.until("the wrapper has ended", func() bool { return p.report().Attempt == -2 })
			require.Equal(t, tc.code, exits())
			require.Equal(t, tc.log, p.logged())
		})
	}
}

func TestAFloodOfSignalsHidesNoEndOfAProcess(t *testing.T) {
	const n = 150
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.start(deafToUSR1 + fmt.Sprintf(`for i in $(seq %d); do (sleep 1000 & echo $! >> $LOG.orphans); done; `, n) + runsForEver)
	p.until("the code begins", func() bool { return strings.HasPrefix(p.logged(), "begins") })
	orphans, err := os.ReadFile(p.log + ".orphans")
	require.NoError(t, err)
	zombies := func() int {
		out, err := exec.Command("ps", "--ppid", fmt.Sprint(c.Process.Pid), "-o", "stat=").Output()
		require.NoError(t, err)
		return strings.Count(string(out), "Z")
	}
	unblock := p.block()
	flood(sends(t, c))
	for _, pid := range strings.Fields(string(orphans)) {
		var number int
		_, err := fmt.Sscan(pid, &number)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
	}
	p.until("nobody has collected them", func() bool { return zombies() == n })
	unblock()
	p.until("all are collected", func() bool { return zombies() == 0 })
}

func TestTheCodeHearsOfSignalsThatAreNotTheWrappers(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.start(`trap 'echo never >> $LOG' URG PIPE; trap 'echo usr1 >> $LOG' USR1; ` + runsForEver)
	p.until("the code begins", func() bool { return strings.HasPrefix(p.logged(), "begins") })
	for _, s := range []os.Signal{syscall.SIGURG, syscall.SIGPIPE, syscall.SIGUSR1} {
		require.NoError(t, c.Process.Signal(s))
	}
	p.until("the code is told", func() bool { return strings.Contains(p.logged(), "usr1") })
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Zero(t, code(t, c))
	require.NotContains(t, p.logged(), "never")
}
