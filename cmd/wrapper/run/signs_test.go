package run_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// watched starts a script of which lines of output are signs of life, and returns its output.
func (p *pod) watched(line, startup, steady, script string) (*exec.Cmd, *bytes.Buffer) {
	c := p.wrap([]string{"-read-output", "-beat-line=" + line, "-beat-startup=" + startup, "-beat-steady=" + steady, "-termination-message=" + p.words()}, "sh", "-c", script, "$(genericjob/attempt)")
	out := &bytes.Buffer{}
	c.Stdout, c.Stderr = out, out
	p.run(c)
	return c, out
}

// words is the file for the container's last words.
func (p *pod) words() string { return filepath.Join(p.dir, "termination-log") }

func (p *pod) said() string {
	text, err := os.ReadFile(p.words())
	require.NoError(p, err)
	return string(text)
}

func TestCodeThatStopsToSaySomethingIsEnded(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c, out := p.watched(`^step \d+`, "1h", "3s", `printf 'step %s of 9\n' 1 2 3; while :; do echo busy; sleep 0.1; done`)
	require.Equal(t, 124, code(t, c))
	require.Equal(t, `heartbeat: no line of output matched for 3 s (steadySeconds), last: "step 3 of 9"`, p.said())
	require.Contains(t, out.String(), "genericjob wrapper: heartbeat: no line of output matched")
}

func TestCodeThatNeverSaysAnythingIsEnded(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c, _ := p.watched(`^step`, "1s", "1h", `trap '' TERM; setsid sleep 1000 & sleep 1000`)
	require.Equal(t, 124, code(t, c), "whatever it has started, in whatever session")
	require.Equal(t, "heartbeat: no line of output matched within 1 s of the start (startupSeconds)", p.said())
}

func TestTheNextAttemptIsWatchedFromItsStart(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c, _ := p.watched(`^step`, "1h", "10s", `trap 'exit 0' TERM; [ $0 -gt 0 ] && { sleep 11; exit 0; }; while :; do echo step; sleep 0.1; done`)
	p.until("it has begun", func() bool { return p.report().Attempt == 0 })
	p.order(1, 0, 1)
	p.awaitReport(1, 0)
	p.order(1, 1, 1)
	require.Zero(t, code(t, c), "it has an hour to its first step, though the attempt before had made some")
}

func TestAFileIsASignOfLifeOnceItChanges(t *testing.T) {
	for name, c := range map[string]struct{ startup, script, want string }{
		"it was there before": {"2s", "sleep 1000", "was not modified within 2 s of the start (startupSeconds)"},
		"it stops":            {"1h", `touch "$LOG.beat"; sleep 1.5; touch "$LOG.beat"; sleep 1000`, "was not modified for 5 s (steadySeconds), last: modified at 20"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			beat := p.log + ".beat"
			require.NoError(t, os.WriteFile(beat, nil, 0o600))
			w := p.wrap([]string{"-beat-file=" + beat, "-beat-startup=" + c.startup, "-beat-steady=5s", "-termination-message=" + p.words()}, "sh", "-c", c.script)
			p.run(w)
			require.Equal(t, 124, code(t, w))
			require.Contains(t, p.said(), c.want)
		})
	}
}

func TestProcessesThatCanSayWhereTheyHang(t *testing.T) {
	const module = `
import threading, time
def waits_for_its_peers():
    time.sleep(1000)
threading.Thread(target=waits_for_its_peers, daemon=True).start()
print("step 1")
waits_for_its_peers()
`
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on this machine")
	}
	for name, script := range map[string]string{
		"the command":      `exec ` + python + ` -c "$CODE"`,
		"a child's child":  `sh -c '` + python + ` -c "$CODE"; true'; true`,
		"another's choice": `export PYTHONFAULTHANDLER=; ` + python + ` -X faulthandler -c "$CODE"; true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("CODE", module)
			p := newPod(t)
			p.order(0, 0, 0)
			c, out := p.watched("^step", "1h", "3s", script)
			require.Equal(t, 124, code(t, c))
			require.Contains(t, out.String(), "step 1\n", "though Python writes to a pipe")
			require.Equal(t, 2, strings.Count(out.String(), "waits_for_its_peers\n"), "both threads: %s", out)
		})
	}
}

func TestAProgramOfGoSaysWhereItHangs(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	// The test's own binary, as a wrapper that waits for orders, is a program of Go; but it takes SIGQUIT for itself. This one does not.
	source := filepath.Join(p.dir, "hangs.go")
	require.NoError(t, os.WriteFile(source, []byte("package main\nimport \"time\"\nfunc main() { println(\"step 1\"); hangs() }\nfunc hangs() { time.Sleep(time.Hour) }\n"), 0o600))
	built, err := exec.Command("go", "build", "-o", source+".bin", source).CombinedOutput()
	require.NoError(t, err, "%s", built)
	c, out := p.watched("^step", "1h", "3s", source+".bin")
	require.Equal(t, 124, code(t, c))
	require.Contains(t, out.String(), "main.hangs")
}

func TestOutputIsHandedOnAsItIs(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	long := strings.Repeat("x", 1<<20) // longer than a pipe, and than what is looked at of a line
	require.NoError(t, os.WriteFile(p.log, []byte("first\r\n"+long+"\nstep 1\x00\xff\nno end of line"), 0o600))
	c := p.wrap([]string{"-beat-line=^step", "-beat-startup=1h", "-beat-steady=1h"}, "sh", "-c", `cat "$LOG"; cat "$LOG" >&2; setsid sleep 1000 & exit 3`)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	p.run(c)
	require.Equal(t, 3, code(t, c), "a process that keeps the output open keeps nobody")
	want, err := os.ReadFile(p.log)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, out.Bytes()), "%d bytes of %d", out.Len(), len(want))
	require.True(t, bytes.Equal(want, errs.Bytes()), "%d bytes of %d", errs.Len(), len(want))
}

func TestOutputTellsProgress(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.watched(`step[= ](?P<step>[^ ]+)( loss=(?P<loss>\S+))?`, "1h", "1h", `
		exec >&2; printf 'step 1 loss=2.5\r'; echo "step=2 loss=1.5e-3"; echo "step=812"; echo "step=of-a-ladder loss=none"; printf 'step=813'
		trap 'exit 0' TERM; while :; do sleep 0.05; done`)
	want := inplace.Report{Pod: "uid", Step: "812", Loss: "1.5e-3", Furthest: "812"}
	p.until("it reports", func() bool {
		got := p.report()
		pace := got.Pace
		got.Pace = nil
		return got == want && pace != nil && pace.First == 1 && !pace.Each
	})
}

func TestAnOrderThatDoesNotChange(t *testing.T) {
	p := newPod(t)
	c := p.wrap([]string{"-order=attempt=4 go=4 jobAttempt=2"}, "sh", "-c", `echo "$0" >> $LOG; exit 9`, "$(genericjob/attempt)")
	p.run(c)
	require.Equal(t, 9, code(t, c))
	again := p.wrap(c.Args[5:6], "sh", "-c", `echo again >> $LOG`)
	p.run(again)
	require.Zero(t, code(t, again), "a container that the kubelet starts again by its own policy runs its code")
	require.Equal(t, "4; again", p.logged())
}
