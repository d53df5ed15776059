package run_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel/output"
)

func TestTheHighestStepIsToldWithTheEnd(t *testing.T) {
	const pattern = "-beat-line=step (?P<step>[0-9.]+)"
	for name, tc := range map[string]struct {
		script, line string
		want         string
	}{
		"the last":                     {"echo step 1; echo step 12; echo step 12 >&2; exit 1", pattern, "12"},
		"none":                         {"echo begins; exit 1", pattern, output.NoStep},
		"a line that does not end":     {"printf 'step 7\nstep 8'; exit 1", pattern, "8"},
		"after much output":            {"i=0; while [ $i -lt 3000 ]; do echo step $i and a line that is as long as lines of training are; i=$((i+1)); done; exit 1", pattern, "2999"},
		"steps that go back":           {"echo step 100; echo step 1; echo step 101; exit 1", pattern, ""},
		"no whole number":              {"echo step 1.5; exit 1", pattern, ""},
		"nobody asks for steps":        {"echo step 1; exit 1", "-beat-line=step [0-9]+", ""},
		"the code has its own message": {"echo step 1; echo mine > $WORDS; exit 1", pattern, ""},
		"a process that stays and has the output open": {"echo step 1; sleep 100 & exit 1", pattern, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			file := filepath.Join(p.dir, "words")
			c := p.wrap([]string{"-termination-message=" + file, "-read-output", "-beat-startup=1h", "-beat-steady=1h", tc.line}, "sh", "-c", tc.script)
			c.Env = append(c.Env, "WORDS="+file)
			p.run(c)
			require.Equal(t, 1, code(t, c))
			require.Equal(t, tc.want, output.Read(p.lastWords()).Step)
		})
	}
}

func TestCodeThatHangsTellsItsHighestStep(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	c := p.wrap([]string{"-termination-message=" + filepath.Join(p.dir, "words"), "-read-output", "-beat-startup=1h", "-beat-steady=1s", "-beat-line=step (?P<step>[0-9]+)"},
		"sh", "-c", "echo step 41; echo step 42; sleep 100")
	p.run(c)
	require.Equal(t, int(output.HangCode), code(t, c))
	require.Equal(t, "42", output.Read(p.lastWords()).Step)
}

// The operator asks a wrapper whose code runs while another replica has failed. Code that begins anew has told nothing.
func TestTheHighestStepIsReported(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	flags := []string{"-hold=1h", "-read-output", "-beat-startup=1h", "-beat-steady=1h", "-beat-line=step (?P<step>[0-9]+)"}
	first := p.wrap(flags, "sh", "-c", "echo step 5; exit 1")
	p.run(first)
	require.Equal(t, 1, code(t, first))
	flags = append(flags, "-termination-message="+filepath.Join(p.dir, "words"))
	again := p.wrap(flags, "sh", "-c", "test -e $LOG || { echo > $LOG; echo step 7; exit 1; }; trap 'exit 0' TERM; while :; do sleep 0.05; done")
	p.run(again)
	p.order(1, 1, 1)
	held := p.awaitHeld().Held
	require.Equal(t, "7", output.Read(held.Message).Step, "an end that is held tells it, too")
	require.Equal(t, "7", p.report().Furthest)
	p.order(2, 2, 2)
	p.until("code that has just begun has told none", func() bool { r := p.report(); return r.Attempt == 2 && r.Furthest == output.NoStep })
	require.NoError(t, again.Process.Signal(syscall.SIGTERM))
	require.Zero(t, code(t, again), "nothing of it outlives the test")
}
