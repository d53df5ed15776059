package run_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
	"github.com/genericjob/genericjob/cmd/wrapper/run"
)

// asWrapper has the test's own binary be a wrapper: the real thing, with signals and processes.
const asWrapper = "GENERICJOB_TEST_WRAPPER"

// asDeveloper has it be what a developer runs in the container.
const asDeveloper = "GENERICJOB_TEST_DEVELOPER"

func TestMain(m *testing.M) {
	if os.Getenv(asWrapper) != "" {
		os.Exit(run.Main(os.Args[1:]))
	}
	if os.Getenv(asDeveloper) != "" {
		os.Exit(develop.Serve(os.Args[1], os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// pod is a pod as far as a wrapper sees it.
type pod struct {
	*testing.T
	dir  string
	port int
	log  string
}

func newPod(t *testing.T) *pod {
	t.Helper()
	p := &pod{T: t, dir: t.TempDir()}
	p.log = filepath.Join(p.dir, "log")
	for _, name := range []string{"state", "order"} {
		require.NoError(t, os.Mkdir(filepath.Join(p.dir, name), 0o755))
	}
	p.until("a port is free", func() bool {
		p.port = 11_000 + rand.IntN(9000) // other tests take what is below, up to 10254, testenv draws from 20000 on, and Linux gives away from 32768 on
		free, err := net.Listen("tcp", fmt.Sprintf(":%d", p.port))
		return err == nil && free.Close() == nil
	})
	return p
}

// order does what a kubelet does with the volume.
func (p *pod) order(attempt, goes, jobAttempt int) {
	next := filepath.Join(p.dir, "order", "next")
	require.NoError(p, os.WriteFile(next, []byte(inplace.Order{Attempt: attempt, Go: goes, JobAttempt: jobAttempt}.String()), 0o600))
	require.NoError(p, os.Rename(next, filepath.Join(p.dir, "order", "order")))
}

// start is a kubelet that starts the container, with a shell script for a command.
func (p *pod) start(script string, env ...string) *exec.Cmd {
	c := p.wrap(nil, "sh", "-c", script, "$(genericjob/attempt)")
	c.Env = append(c.Env, env...)
	p.run(c)
	return c
}

// wrap is a wrapper of a command that is yet to be started.
func (p *pod) wrap(flags []string, command ...string) *exec.Cmd {
	flags = append([]string{"-dir=" + p.dir, fmt.Sprintf("-port=%d", p.port), "-pod=uid", "-grace=5m"}, flags...)
	c := exec.Command(os.Args[0], append(append(flags, "--"), command...)...)
	c.Env = append(os.Environ(), asWrapper+"=1", "LOG="+p.log)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return c
}

func (p *pod) run(c *exec.Cmd) {
	require.NoError(p, c.Start())
	p.Cleanup(func() {
		if c.ProcessState == nil { // nothing of it may outlive the test
			p.order(1000, 0, 0)
			p.until("all has ended", func() bool { return p.report().Attempt == 1000 })
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
}

// code waits for the end of the container.
func code(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	var failed *exec.ExitError
	if err := c.Wait(); err != nil {
		require.ErrorAs(t, err, &failed)
	}
	return c.ProcessState.ExitCode()
}

func (p *pod) logged() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ""
	}
	return strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "; ")
}

// child is the process whose number code has written down; 0 before.
func (p *pod) child() (pid int) {
	text, _ := os.ReadFile(p.log + ".child")
	_, _ = fmt.Sscan(string(text), &pid)
	return pid
}

// runs is whether a process executes code. One that has ended stays as a zombie until somebody asks how.
func runs(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func (p *pod) until(what string, is func() bool) {
	p.Helper()
	require.Eventually(p, is, 5*time.Minute, 20*time.Millisecond, what)
}

func (p *pod) awaitLog(want string) {
	p.Helper()
	p.until("the log says "+want, func() bool { return p.logged() == want })
}

// report asks the wrapper, as the operator does.
func (p *pod) report() inplace.Report { return p.ask(inplace.Question{Pod: "uid"}) }

// ask asks it anything, again if a question is lost: the wrapper has a second for one. At is -2 if it does not answer.
func (p *pod) ask(q inplace.Question) (r inplace.Report) {
	for range 6 {
		if r = p.askOnce(q); r.Attempt != -2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return r
}

func (p *pod) askOnce(q inplace.Question) (r inplace.Report) {
	nothing := inplace.Report{Attempt: -2}
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
	if err != nil {
		return nothing
	}
	defer c.Close()
	if json.NewEncoder(c).Encode(q) != nil || json.NewDecoder(c).Decode(&r) != nil {
		return nothing
	}
	return r
}

func (p *pod) awaitReport(at, exits int) {
	p.Helper()
	p.until(fmt.Sprintf("attempt %d is reached", at), func() bool {
		r := p.report()
		r.Ended = nil // see last_output_test.go
		return r == inplace.Report{Pod: "uid", Attempt: at, Exits: exits}
	})
}

// runsForEver says that it begins once it can be told to end, and not before.
const runsForEver = `trap 'echo told >> $LOG; exit 0' TERM; echo begins $0 >> $LOG; while :; do sleep 0.05; done`

// push is a question that brings an order.
func push(attempt, goes, jobAttempt int) inplace.Question {
	return inplace.Question{Pod: "uid", Order: inplace.Order{Attempt: attempt, Go: goes, JobAttempt: jobAttempt}.String()}
}
