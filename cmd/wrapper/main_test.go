package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Any user may run the copy. One that is there already, of a container before, may be running: nobody may write into it.
func TestInstallReplacesTheProgramAsAWhole(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, inplace.Binary)
	require.NoError(t, os.WriteFile(program, []byte("of the container before"), 0o600))
	before, err := os.Open(program)
	require.NoError(t, err)
	defer before.Close()
	require.Equal(t, 0, start([]string{"install", dir}))

	self, err := os.Executable()
	require.NoError(t, err)
	want, err := os.ReadFile(self)
	require.NoError(t, err)
	have, err := os.ReadFile(program)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, have))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	old := make([]byte, 100)
	n, err := before.Read(old)
	require.NoError(t, err)
	require.Equal(t, "of the container before", string(old[:n]))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left beside it")
}

func TestWhatCannotBeInstalledLeavesNothing(t *testing.T) {
	require.Equal(t, 1, start([]string{"install", filepath.Join(t.TempDir(), "missing")}))
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, inplace.Binary, "folder"), 0o755))
	require.Equal(t, 1, start([]string{"install", dir}))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"install"}, {"walk"}, {"develop", "more"}, {"run"}, {"run", "-port=0", "--"}, {"run", "-nonsense", "--", "true"}} {
		require.Equal(t, 2, start(args), "%v", args)
	}
}
