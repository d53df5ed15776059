package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// secondLife is a pod whose container has failed once and was started again. Its code leaves a process and last words behind, and fails
// in attempts 0 and 1. It holds failures for so long.
func secondLife(t *testing.T, hold string) (p *pod, wait func() int, signal func(os.Signal)) {
	t.Helper()
	p = newPod(t)
	p.order(0, 0, 0)
	words := filepath.Join(p.dir, "words")
	script := `echo begins $0 >> $LOG; [ $0 -lt 2 ] || exit 0; [ $0 -lt 1 ] || { sleep 300 >/dev/null 2>&1 & echo $! > $LOG.child; }; printf 'out of luck %600s' $0 > ` + words + `; exit 7`
	flags := []string{"-hold=" + hold, "-termination-message=" + words}
	first := p.wrap(flags, "sh", "-c", script, "$(genericjob/attempt)")
	p.run(first)
	require.Equal(t, 7, code(t, first), "the kubelet starts it again at once")
	again := p.wrap(flags, "sh", "-c", script, "$(genericjob/attempt)")
	p.run(again)
	p.order(1, 1, 1)
	p.awaitLog("begins 0; begins 1")
	return p, func() int { return code(t, again) }, func(s os.Signal) { require.NoError(t, again.Process.Signal(s)) }
}

// awaitHeld waits until the end of attempt 1 is reported, and nothing of it runs.
func (p *pod) awaitHeld() (r inplace.Report) {
	p.Helper()
	p.until("the end is reported", func() bool {
		r = p.report()
		return r.Held != nil
	})
	return r
}

func TestCodeThatFailsAgainIsHeldUntilTheNextOrder(t *testing.T) {
	p, wait, _ := secondLife(t, "1h")
	r := p.awaitHeld()
	require.Equal(t, []int{1, 1, 1, 7}, []int{r.Attempt, r.Exits, r.Held.Attempt, int(r.Held.Code)})
	require.False(t, r.Held.Ended.Before(r.Held.Began))
	require.LessOrEqual(t, len(r.Held.Message), inplace.MaxMessage)
	require.True(t, strings.HasSuffix(r.Held.Message, "1"), "the end of %q", r.Held.Message)

	p.ask(push(2, 0, 2))
	p.awaitReport(2, 1)
	require.False(t, runs(p.child()), "what it has left behind is killed")
	left, err := os.ReadFile(filepath.Join(p.dir, "words"))
	require.NoError(t, err)
	require.Empty(t, left, "they are of an attempt that is over")
	p.ask(push(2, 2, 2))
	require.Zero(t, wait())
	require.Equal(t, "begins 0; begins 1; begins 2", p.logged())
}

func TestAnEndIsNotHeldForEver(t *testing.T) {
	_, wait, _ := secondLife(t, "200ms")
	require.Equal(t, 7, wait(), "as if it had not been held")
}

func TestAPodThatEndsWhileItHoldsTellsTheCode(t *testing.T) {
	p, wait, signal := secondLife(t, "1h")
	p.awaitHeld()
	signal(syscall.SIGTERM)
	require.Equal(t, 7, wait())
}
