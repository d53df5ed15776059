package run_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// saves is a program that saves for a second when it is asked to end.
const saves = `trap "sleep 1; echo saved >> $LOG; exit 0" TERM; echo begins >> $LOG; while :; do sleep 0.05; done`

// around are commands that do not wait for the program that saves, or do not tell it to end.
var around = map[string]string{
	"a shell ends at once":                 `sh -c '` + saves + `'; echo never >> $LOG`,
	"the program is in a session":          `setsid sh -c '` + saves + `' & wait; echo never >> $LOG`,
	"a shell waits, but tells nobody":      `trap 'wait' TERM; setsid sh -c '` + saves + `' & wait`,
	"three shells end one after the other": `sh -c "sh -c '` + strings.ReplaceAll(strings.ReplaceAll(saves, `"`, `\"`), `$`, `\$`) + `'; echo never"; echo never`,
}

func TestAStopWaitsForWhatSavesThoughTheCommandHasEnded(t *testing.T) {
	for name, script := range around {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			p.run(p.wrap([]string{"-grace=1m"}, "sh", "-c", script))
			p.awaitLog("begins")
			p.order(1, 0, 1)
			p.awaitReport(1, 0)
			require.Equal(t, "begins; saved", p.logged())
		})
	}
}

func TestAPodThatEndsWaitsForWhatSavesThoughTheCommandHasEnded(t *testing.T) {
	for name, script := range around {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			c := p.wrap([]string{"-grace=1m"}, "sh", "-c", script)
			p.run(c)
			p.awaitLog("begins")
			require.NoError(t, c.Process.Signal(syscall.SIGTERM))
			code(t, c)
			require.Equal(t, "begins; saved", p.logged(), "the container ends with its first process")
		})
	}
}

// An image may name another signal by which its containers are stopped.
func TestAPodThatEndsBySIGINTWaitsToo(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.wrap([]string{"-grace=1m"}, "sh", "-c", strings.ReplaceAll(around["a shell ends at once"], "TERM", "INT"))
	p.run(c)
	p.awaitLog("begins")
	require.NoError(t, c.Process.Signal(syscall.SIGINT))
	require.Equal(t, 130, code(t, c))
	require.Equal(t, "begins; saved", p.logged())
}

func TestAPodThatEndsDuringAStopDoesNotCutIt(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	script := strings.ReplaceAll(around["a shell ends at once"], "sleep 1;", "echo told >> $LOG; while [ ! -e $LOG.go ]; do sleep 0.05; done; sleep 1;")
	c := p.wrap([]string{"-grace=1m"}, "sh", "-c", script)
	p.run(c)
	p.awaitLog("begins")
	p.order(1, 1, 1)
	p.awaitLog("begins; told")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	p.letGo()
	require.Equal(t, 143, code(t, c))
	require.Equal(t, "begins; told; saved", p.logged(), "it is asked once, and nothing starts any more")
}

func TestWhatStartsAfterAStopIsNotAskedToEnd(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-grace=1m"}, "sh", "-c", `trap 'setsid sh -c "sleep 1; echo saved >> $LOG" & exit 0' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`))
	p.awaitLog("begins")
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	require.Equal(t, "begins; saved", p.logged())
}

// The grace period is longer than the test.
func TestAStopThatAllObeyWaitsForNobody(t *testing.T) {
	script := `setsid sleep 1000 & sleep 1000 & sh -c 'sleep 1000; true' & echo begins >> $LOG; wait`
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.wrap([]string{"-grace=1h"}, "sh", "-c", script)
	p.run(c)
	p.awaitLog("begins")
	p.order(1, 1, 1)
	p.awaitLog("begins; begins")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, code(t, c))
}

func TestAPodThatEndsDoesNotWaitForEver(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.wrap([]string{"-grace=2s"}, "sh", "-c", `trap 'exit 5' TERM; setsid sh -c 'trap "" TERM; echo $$ > $LOG.child; sleep 1000' & while :; do sleep 0.05; done`)
	p.run(c)
	p.until("its child runs", func() bool { return p.child() > 0 })
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, code(t, c), "the command's, though another process was killed")
	require.False(t, runs(p.child()))
}

// Somebody deletes the pod with a shorter grace period, while a process that the command has left saves.
func TestAPodThatIsAskedToEndTwiceKeepsTheCodeOfItsCommand(t *testing.T) {
	for _, want := range []int{0, 3} {
		p := newPod(t)
		p.order(0, 0, 0)
		c := p.wrap([]string{"-grace=1m"}, "sh", "-c", fmt.Sprintf(
			`trap 'setsid sh -c "echo saves >> $LOG; while [ ! -e $LOG.go ]; do sleep 0.05; done" & exit %d' TERM; echo $$ > $LOG.child; while :; do sleep 0.05; done`, want))
		p.run(c)
		p.until("the command runs", func() bool { return p.child() > 0 })
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		p.awaitLog("saves")
		p.until("the wrapper knows that the command has ended", func() bool { return errors.Is(syscall.Kill(p.child(), 0), syscall.ESRCH) })
		require.NoError(t, c.Process.Signal(syscall.SIGTERM))
		p.letGo()
		require.Equal(t, want, code(t, c))
	}
}

// letGo lets scripts end that wait for the test.
func (p *pod) letGo() { require.NoError(p, os.WriteFile(p.log+".go", nil, 0o600)) }

// slowToStop is a command of which a script in another session does not heed SIGTERM, with the file of what the wrapper says.
func (p *pod) slowToStop(trap, grace string) (*exec.Cmd, func() string, string) {
	file := filepath.Join(p.dir, "slow.sh")
	require.NoError(p, os.WriteFile(file, []byte("trap '"+trap+"' TERM; echo begins >> $LOG; while :; do sleep 0.05; done"), 0o600))
	c := p.wrap([]string{"-grace=" + grace}, "sh", "-c", `setsid sh `+file+` --token=secret & wait`)
	out, err := os.Create(p.log + ".out")
	require.NoError(p, err)
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	p.run(c)
	p.awaitLog("begins")
	said := func() string {
		text, err := os.ReadFile(out.Name())
		require.NoError(p, err)
		return string(text)
	}
	return c, said, fmt.Sprintf(`"%.60s" (pid `, "sh "+file)
}

func TestTheLogNamesWhoIsSlowToStop(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c, said, straggler := p.slowToStop("while [ ! -e $LOG.go ]; do sleep 0.05; done; exit 0", "5m")
	p.order(1, 0, 1)
	p.until("the straggler is named", func() bool { return strings.Contains(said(), "it waits for "+straggler) })
	p.letGo()
	p.awaitReport(1, 0)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	code(t, c)
	require.Regexp(t, `genericjob wrapper: attempt 0 was asked to stop \d+s ago; it waits for "`, said())
	require.Regexp(t, `attempt 0 has stopped, \d+\.\d s after it was asked to; last to end: .*"`, said())
	require.NotContains(t, said(), "secret")
	require.NotContains(t, said(), "it kills")
}

// kubectl gj logs finds by this line where the words of an attempt end.
func TestTheLogSaysThatAnAttemptHasStopped(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c, said, _ := p.slowToStop("exit 0", "5m")
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	code(t, c)
	require.Regexp(t, `(?m)^genericjob wrapper: attempt 0 has stopped, \d+\.\d s after it was asked to; last to end: `, said())
}

func TestTheLogNamesWhoIsKilled(t *testing.T) {
	for name, end := range map[string]func(*pod, *exec.Cmd){
		"by order": func(p *pod, c *exec.Cmd) {
			p.order(1, 0, 1)
			p.awaitReport(1, 0)
			require.NoError(p, c.Process.Signal(syscall.SIGTERM))
		},
		"with the pod": func(p *pod, c *exec.Cmd) { require.NoError(p, c.Process.Signal(syscall.SIGTERM)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			c, said, straggler := p.slowToStop("", "4s")
			end(p, c)
			code(t, c)
			require.Contains(t, said(), "its grace period (terminationGracePeriodSeconds): it kills "+straggler)
		})
	}
}
