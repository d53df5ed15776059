package run_test

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel/output"
)

// raises is a program that prints what Python does for an exception, and then so much that a kubelet would keep none of it.
const raises = `printf 'step 3\n[rank2]: Traceback (most recent call last):\n[rank2]:   File "/train.py", line 12, in main\n[rank2]: ValueError: loss is nan\n' >&2
i=0; while [ $i -lt 200 ]; do echo "a line of a launcher, of which there are many" >&2; i=$((i+1)); done; exit 1`

// errorFile is what @record writes where TORCHELASTIC_ERROR_FILE is /dev/termination-log.
const errorFile = `{"message": {"message": "KeyError: \u0027x\u0027", "extraInfo": {"py_callstack": "Traceback (most recent call last):\n  File \"/train.py\", line 3, in f\nKeyError: \u0027x\u0027\n", "timestamp": "1"}}}`

func (p *pod) lastWords() string {
	text, err := os.ReadFile(filepath.Join(p.dir, "words"))
	if err != nil {
		return ""
	}
	return string(text)
}

func TestWhatCodeSaidLastIsTheTerminationMessage(t *testing.T) {
	for name, tc := range map[string]struct {
		script string
		flags  []string
		code   int
		want   output.Failure
		output string
	}{
		"an exception":                         {raises, []string{"-read-output"}, 1, output.Failure{ProcessRank: "2", Exception: "ValueError: loss is nan", Frame: "/train.py:12, in main", Kind: output.NotANumber}, "a line of a launcher"},
		"anything":                             {"echo begins; echo disk full; exit 3", []string{"-read-output"}, 3, output.Failure{}, "begins\ndisk full"},
		"success":                              {"echo done", []string{"-read-output"}, 0, output.Failure{}, ""},
		"nobody is to read":                    {raises, nil, 1, output.Failure{}, ""},
		"nobody is to read beside a heartbeat": {raises, []string{"-beat-line=step"}, 1, output.Failure{}, ""},
		"the code's own":                       {"echo disk full; echo mine > $WORDS; exit 3", []string{"-read-output"}, 3, output.Failure{}, "mine"},
		"the error file of PyTorch": {`printf '%s' '` + errorFile + `' > $WORDS; exit 1`, []string{"-read-output"}, 1,
			output.Failure{Exception: "KeyError: 'x'", Frame: "/train.py:3, in f"}, "py_callstack"},
		"beside a heartbeat": {raises, []string{"-read-output", "-beat-line=step"}, 1, output.Failure{ProcessRank: "2", Exception: "ValueError: loss is nan", Frame: "/train.py:12, in main", Kind: output.NotANumber}, "a line"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			flags := append([]string{"-termination-message=" + filepath.Join(p.dir, "words"), "-beat-startup=1h", "-beat-steady=1h"}, tc.flags...)
			c := p.wrap(flags, "sh", "-c", tc.script)
			c.Env = append(c.Env, "WORDS="+filepath.Join(p.dir, "words"))
			var log bytes.Buffer
			c.Stdout, c.Stderr = &log, &log
			p.run(c)
			require.Equal(t, tc.code, code(t, c))
			said := output.Read(p.lastWords())
			require.Contains(t, said.Output, tc.output)
			require.NotContains(t, said.Output, "genericjob wrapper")
			require.LessOrEqual(t, len(p.lastWords()), 1024)
			said.Output = ""
			require.Equal(t, tc.want, said)
		})
	}
}

// A wrapper said of code that it held only that it waited for an order.
func TestAnEndThatIsHeldTellsWhatTheCodeSaid(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	flags := []string{"-hold=1h", "-read-output", "-termination-message=" + filepath.Join(p.dir, "words")}
	first := p.wrap(flags, "sh", "-c", raises)
	p.run(first)
	require.Equal(t, 1, code(t, first))
	again := p.wrap(flags, "sh", "-c", raises)
	p.run(again)
	p.order(1, 1, 1)
	r := p.awaitHeld()
	require.Equal(t, "ValueError: loss is nan", output.Read(r.Held.Message).Exception)
	require.Equal(t, r.Held, r.Ended)

	p.ask(push(2, 0, 2))
	p.awaitReport(2, 1)
	require.Equal(t, r.Held, p.report().Ended, "it is told until code runs again")
	p.order(2, 2, 2)
	p.until("code that runs has not ended", func() bool { r := p.report(); return r.Ended == nil || r.Ended.Attempt == 2 })
	require.NoError(t, again.Process.Signal(syscall.SIGKILL))
	_ = again.Wait()
}

// A kubelet keeps the log of one container that has ended. The one that ends last had run nothing.
func TestWhatTheCodeSaidOutlivesTheContainerThatWaits(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	flags := []string{"-read-output", "-termination-message=" + filepath.Join(p.dir, "words")}
	first := p.wrap(flags, "sh", "-c", "echo step 3; echo lost a peer >&2; exit 9")
	p.run(first)
	require.Equal(t, 9, code(t, first))
	again := p.wrap(flags, "sh", "-c", "echo never")
	var out, err bytes.Buffer
	again.Stdout, again.Stderr = &out, &err
	p.run(again)
	p.awaitReport(0, 1)
	require.NoError(t, again.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, code(t, again))
	require.Equal(t, "genericjob wrapper: attempt 0 had ended with exit code 9. The end of what it said:\nstep 3\n", out.String())
	require.Equal(t, "genericjob wrapper: attempt 0 had ended with exit code 9. The end of what it said:\nlost a peer\n", err.String())
}
