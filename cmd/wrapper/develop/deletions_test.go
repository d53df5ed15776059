package develop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The image may have a file that a developer has brought anew and deleted then.
func TestADeletedFileDoesNotComeBackWithTheImage(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	image := func() {
		require.NoError(t, os.WriteFile(filepath.Join(app, "old.py"), []byte("image"), 0o600))
	}
	image()
	s := storeWith(t, own)
	require.NoError(t, s.stage(stream(t, entry{name: "old.py", text: "x"}, entry{name: "new.py", text: "y"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, s.stage(stream(t), app, []string{"old.py"}))
	require.NoError(t, s.apply())
	require.NoError(t, s.stage(stream(t, entry{name: "new.py", text: "z"}), app, nil))
	require.NoError(t, s.apply())
	image()
	_, err := s.restore()
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(app, "old.py"))

	require.NoError(t, s.stage(stream(t, entry{name: "old.py", text: "again"}), app, nil))
	require.NoError(t, s.apply())
	_, err = s.restore()
	require.NoError(t, err)
	require.Equal(t, "again", textOf(t, filepath.Join(app, "old.py")))
}

// One file may have been brought by itself, and later with its folder.
func TestOfTwoFoldersTheLastThatCameHolds(t *testing.T) {
	for _, dirs := range [][2]string{{"lib", "."}, {".", "lib"}} {
		own, app := t.TempDir(), t.TempDir()
		send := func(dir, text string, deleted ...string) {
			s := storeWith(t, own)
			at, err := filepath.Rel(dir, "lib/x.py")
			require.NoError(t, err)
			sent := stream(t)
			if text != "" {
				sent = stream(t, entry{name: at, text: text}, entry{name: "other", text: "other"})
			}
			for i := range deleted {
				deleted[i], err = filepath.Rel(dir, deleted[i])
				require.NoError(t, err)
			}
			require.NoError(t, s.stage(sent, filepath.Join(app, dir), deleted))
			require.NoError(t, s.apply())
		}
		restored := func() string {
			require.NoError(t, os.RemoveAll(app))
			_, err := storeWith(t, own).restore()
			require.NoError(t, err)
			text, _ := os.ReadFile(filepath.Join(app, "lib", "x.py"))
			return string(text)
		}
		send(dirs[0], "first")
		send(dirs[1], "second")
		require.Equal(t, "second", restored())
		require.Equal(t, "other", textOf(t, filepath.Join(app, "other")))
		require.Equal(t, "other", textOf(t, filepath.Join(app, "lib", "other")))
		send(dirs[0], "", "lib/x.py")
		require.Empty(t, restored())
		send(dirs[1], "third")
		require.Equal(t, "third", restored())
	}
}

// Replicas may share a folder, on a volume that many mount. Each deletes what all have to.
func TestReplicasThatShareAFolderDeleteInIt(t *testing.T) {
	app := t.TempDir()
	var names []string
	for i := range 500 {
		names = append(names, fmt.Sprintf("old-%d.py", i))
		require.NoError(t, os.WriteFile(filepath.Join(app, names[i]), nil, 0o600))
	}
	var all sync.WaitGroup
	failed := make([]error, 8)
	for i := range failed {
		s := newStore(t.TempDir())
		require.NoError(t, s.stage(stream(t, entry{name: "new.py", text: "x"}), app, names))
		all.Go(func() { failed[i] = s.apply() })
	}
	all.Wait()
	require.NoError(t, errors.Join(failed...))
	require.NoFileExists(t, filepath.Join(app, names[0]))
}
