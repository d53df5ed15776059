package run_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

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
