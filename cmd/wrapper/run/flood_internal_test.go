package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// The signal may come while the wrapper begins.
func TestNoCodeStartsOnceASignalHasSaidThatThePodEnds(t *testing.T) {
	dir := t.TempDir()
	w := &wrapper{
		options:   options{dir: dir, command: []string{"true"}, fixedOrder: &inplace.Order{}},
		stateFile: filepath.Join(dir, "run"),
		memory:    memory{Ran: -1},
		ends:      make(chan os.Signal, 1),
	}
	w.ends <- syscall.SIGTERM
	require.Equal(t, 143, w.loop())
	require.Equal(t, -1, w.Ran)
}

// The loop hears of the end of the pod by a channel of its own. The code would be asked twice.
func TestTheCodeIsHandedOnlySignalsThatNobodyElseHears(t *testing.T) {
	c := exec.Command("sleep", "1000")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, c.Start())
	w := &wrapper{child: c.Process.Pid}
	for _, s := range slices.Concat(endSignals, ownSignals) {
		w.onSignal(s.(syscall.Signal))
	}
	w.onSignal(syscall.SIGVTALRM)
	require.Error(t, c.Wait())
	require.Equal(t, syscall.SIGVTALRM, c.ProcessState.Sys().(syscall.WaitStatus).Signal())
}
