package cluster

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// twoCaches are the layouts of two cache folders of one machine. The cluster was made from the first.
func twoCaches(t *testing.T) (owner, other Layout) {
	owner, other = testLayout(t), testLayout(t)
	owner.State = filepath.Join(t.TempDir(), "a cache", "cluster")
	other.Run = owner.Run
	require.NoError(t, owner.claim())
	return owner, other
}

func TestTheClusterOfAnotherCacheFolderIsLeftAlone(t *testing.T) {
	owner, other := twoCaches(t)
	pid := filepath.Join(owner.folders().Pids, "etcd.pid")
	require.NoError(t, os.MkdirAll(filepath.Dir(pid), 0o755))
	require.NoError(t, os.WriteFile(pid, []byte("1\n"), 0o644))
	for name, do := range map[string]func() error{
		"up":           func() error { return Up(t.Context(), other, io.Discard) },
		"down":         func() error { return Down(t.Context(), other, io.Discard) },
		"check":        func() error { return other.check(t.Context()) },
		"stopOutdated": func() error { return other.stopOutdated(t.Context(), io.Discard) },
		"claim":        other.claim,
		"node":         func() error { return AddNode(t.Context(), other, "second", io.Discard, io.Discard) },
	} {
		t.Run(name, func(t *testing.T) {
			err := do()
			require.ErrorContains(t, err, "was made from the cache folder "+owner.cache()+", not "+other.cache()+", and was left alone")
			require.ErrorContains(t, err, "\n  GENERICJOB_CACHE='"+owner.cache()+"' make cluster-down")
			require.FileExists(t, pid)
			require.NoError(t, owner.checkOwner())
		})
	}
	entries, err := os.ReadDir(owner.Run)
	require.NoError(t, err)
	require.Len(t, entries, 2, "owner and pids")
}

func TestAClusterThatWasRemovedHasNoOwner(t *testing.T) {
	owner, other := twoCaches(t)
	require.NoError(t, owner.claim(), "of one's own, it may be claimed again")
	require.NoError(t, os.RemoveAll(owner.Run)) // the last that Down does
	require.NoError(t, other.claim())
	require.ErrorContains(t, owner.checkOwner(), other.cache())
}
