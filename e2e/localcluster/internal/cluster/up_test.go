package cluster

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
