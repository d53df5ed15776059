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
	"syscall"
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

func TestCodeBeginsWhenTheOrderLetsItGo(t *testing.T) {
	p := newPod(t)
	c := p.start(`echo "$0 $WORLD" >> $LOG`, "WORLD=world-$(genericjob/jobAttempt)")
	p.awaitReport(-1, 0)
	p.order(3, 0, 2)
	p.awaitReport(3, 0)
	require.Empty(t, p.logged())
	p.order(3, 3, 2)
	require.Zero(t, code(t, c))
	require.Equal(t, "3 world-2", p.logged())
}

func TestALaterAttemptStopsTheCodeAndWaits(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	require.Equal(t, "begins 0; told", p.logged(), "reached means that nothing of the attempt before runs")
	p.order(1, 1, 1)
	p.awaitLog("begins 0; told; begins 1")
}

// push is a question that brings an order.
func push(attempt, goes, jobAttempt int) inplace.Question {
	return inplace.Question{Pod: "uid", Order: inplace.Order{Attempt: attempt, Go: goes, JobAttempt: jobAttempt}.String()}
}

func TestAnOrderMayComeBeforeTheVolumeShowsIt(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	script := `[ $0 -lt 2 ] || exit 3; ` + runsForEver
	c := p.start(script)
	p.awaitLog("begins 0")
	p.ask(push(1, 0, 1))
	p.awaitReport(1, 0)
	require.Equal(t, "begins 0; told", p.logged())
	p.ask(push(1, 1, 1))
	p.awaitLog("begins 0; told; begins 1")
	p.ask(push(1, 0, 1)) // one that was late
	p.ask(push(0, 0, 0))
	p.ask(push(2, 0, 2))
	p.awaitReport(2, 0)

	// Its container is killed. The next one, whose volume shows the first order still, does not fall behind what was reported.
	require.NoError(t, c.Process.Kill())
	_ = c.Wait()
	c = p.start(script)
	p.awaitReport(2, 1)
	p.ask(push(2, 2, 2))
	require.Equal(t, 3, code(t, c))
	require.Equal(t, "begins 0; told; begins 1; told", p.logged())
}

func TestOnlyWhoKnowsThePodIsAnswered(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	stranger := push(1, 1, 1)
	stranger.Pod = "another"
	require.Equal(t, -2, p.ask(stranger).Attempt)
	require.Equal(t, -2, p.ask(inplace.Question{Pod: "uid", Order: strings.Repeat("1", 2000)}).Attempt, "too long")
	require.Equal(t, inplace.Report{Pod: "uid"}, p.ask(inplace.Question{Pod: "uid", Order: "attempt=1"}), "what is no order is none")
	silent, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
	require.NoError(t, err)
	defer silent.Close()
	require.Equal(t, inplace.Report{Pod: "uid"}, p.report(), "who says nothing holds up nobody")
	require.Equal(t, "begins 0", p.logged())
}

func TestCodeThatDoesNotGoIsKilledWithAllThatItHasStarted(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	// A child in a session of its own hears nothing of signals to the group.
	p.run(p.wrap([]string{"-grace=2s"}, "sh", "-c", `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ > $LOG.child; while :; do sleep 0.05; done' & echo begins >> $LOG; while :; do sleep 0.05; done`))
	p.until("its child runs", func() bool { return p.child() > 0 })
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	require.False(t, runs(p.child()))
}

func TestCodeThatFailsEndsTheContainerAndIsNotRunAgainWithoutAnOrder(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	script := `echo begins $0 >> $LOG; [ $0 -gt 0 ] || exit 7`
	require.Equal(t, 7, code(t, p.start(script)))
	c := p.start(script) // the kubelet starts it again, whoever has allowed it
	p.awaitReport(0, 1)
	require.Equal(t, "begins 0", p.logged())
	p.order(1, 1, 0)
	require.Zero(t, code(t, c))
	require.Equal(t, "begins 0; begins 1", p.logged())
}

func TestAPodThatEndsTellsItsCode(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.start(`trap 'echo told >> $LOG; exit 5' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
	p.awaitLog("begins")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 5, code(t, c))
	require.Equal(t, "begins; told", p.logged())

	waits := newPod(t)
	w := waits.start("exit 0")
	waits.awaitReport(-1, 0)
	require.NoError(t, w.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, code(t, w), "it has nothing to wait for")
}

func TestWhatCannotBeRunSaysSoAsShellsDo(t *testing.T) {
	for name, command := range map[string][]string{"127": {"no-such-command"}, "126": {"/etc/passwd"}} {
		p := newPod(t)
		p.order(0, 0, 0)
		c := exec.Command(os.Args[0], append([]string{"-dir=" + p.dir, fmt.Sprintf("-port=%d", p.port), "--"}, command...)...)
		c.Env = append(os.Environ(), asWrapper+"=1")
		require.NoError(t, c.Start())
		require.Equal(t, name, fmt.Sprint(code(t, c)))
	}
}

func TestASignalThatKillsTheCodeIsItsExitCode(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	require.Equal(t, 137, code(t, p.start(`kill -KILL $$`)))
}

func TestProcessesThatNobodyWaitsForAreCollected(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.start(`sh -c '(sleep 0.1; echo $(cut -d" " -f4 /proc/self/stat) >/dev/null) & exit 0'; trap 'exit 0' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
	p.awaitLog("begins")
	p.until("no zombie is left", func() bool {
		out, err := exec.Command("ps", "--ppid", fmt.Sprint(c.Process.Pid), "-o", "stat=").Output()
		return err == nil && !strings.Contains(string(out), "Z")
	})
}
