package cluster

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The traces of a cluster that ran when its machine was switched off must not look like a crash of the next start.
func TestAClusterThatWasKilledCanStartAgain(t *testing.T) {
	l := testLayout(t)
	require.NoError(t, os.MkdirAll(l.folders().Pids, 0o755))
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	for _, c := range l.components() {
		pid := []byte(strconv.Itoa(gone.Process.Pid) + "\n")
		require.NoError(t, os.WriteFile(filepath.Join(l.folders().Pids, c.Name+".pid"), pid, 0o644))
	}
	require.NotEmpty(t, l.dead())

	require.NoError(t, l.stopOutdated(t.Context(), io.Discard))

	require.Empty(t, l.dead())
}

// A test that works in the folder of the machine's own cluster makes that look stopped while it runs.
func TestNoTestTouchesTheMachinesCluster(t *testing.T) {
	l := testLayout(t)
	own := filepath.Dir(l.State)
	for _, path := range []string{l.Run, l.folders().Pids, l.folders().Logs, l.LockFile(), l.Kubeconfig(), l.pki(), l.savedSettings(), l.firstNode().containerdSocket()} {
		require.True(t, strings.HasPrefix(path, own+"/"), "%s is not below %s", path, own)
	}
	for _, c := range l.components() {
		require.NotContains(t, strings.Join(c.Arguments, " "), MachineRun, c.Name)
	}
}
