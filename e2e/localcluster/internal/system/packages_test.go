package system

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An apt-get that is killed leaves dpkg broken.
func TestAptGetRunsToItsEndWhenSomebodyInterrupts(t *testing.T) {
	folder := t.TempDir()
	program, begun, ended := filepath.Join(folder, "apt-get"), filepath.Join(folder, "begun"), filepath.Join(folder, "ended")
	script := "#!/bin/sh\n[ \"$5\" != fail ] || { echo broken; exit 1; }\necho \"$@\" >" + begun + "\nsleep 1\ncut -d' ' -f5 /proc/self/stat >" + ended + "\n"
	require.NoError(t, os.WriteFile(program, []byte(script), 0o700))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- apt(ctx, program, "install", "-y", "runc") }()
	require.Eventually(t, func() bool { _, err := os.Stat(begun); return err == nil }, 10*time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	group, err := os.ReadFile(ended)
	require.NoError(t, err)
	own, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	require.NotEqual(t, strings.Fields(string(own))[4], strings.TrimSpace(string(group)), "a terminal would interrupt it")
	said, err := os.ReadFile(begun)
	require.NoError(t, err)
	require.Equal(t, "-o DPkg::Lock::Timeout=1200 install -y runc\n", string(said))

	require.ErrorIs(t, apt(ctx, program, "update"), context.Canceled, "nothing is begun after an interrupt")
	require.ErrorContains(t, apt(t.Context(), program, "install", "-y", "fail"), "broken")
}
