package develop

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A developer makes a folder of a file, and a file of a folder, and the reverse.
func TestAFileBecomesAFolderAndAFolderAFile(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	s := storeWith(t, own)
	inFolders := []entry{{name: "conf/deep/a", text: "a"}, {name: "conf/b", text: "b"}, {name: "model", text: "m"}}
	inFiles := []entry{{name: "conf", text: "c"}, {name: "model/deep/x", text: "x"}}
	image := func() {
		require.NoError(t, os.RemoveAll(app))
		for _, e := range inFolders {
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(app, e.name)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(app, e.name), nil, 0o600))
		}
	}
	send := func(entries, deleted []entry) {
		var names []string
		for _, e := range deleted {
			names = append(names, e.name)
		}
		require.NoError(t, s.stage(stream(t, entries...), app, names))
		require.NoError(t, s.apply())
		for range 2 { // the second time in a container with the files of its image
			for _, e := range entries {
				require.Equal(t, e.text, textOf(t, filepath.Join(app, e.name)))
			}
			image()
			_, err := s.restore()
			require.NoError(t, err)
		}
	}
	image()
	send(inFolders, nil)
	require.NoError(t, os.Mkdir(filepath.Join(app, "conf", "empty"), 0o755))
	send(inFiles, inFolders)
	send(inFolders, inFiles)
	send(inFiles, inFolders)

	require.NoError(t, os.RemoveAll(app))
	send(inFolders, nil) // another call of the developer's, who does not know what the first has brought
}

// A developer may have deleted in the pod what stood in the way, as the message asks for. The next container has it again, of its image.
func TestWhatStoodInTheWayInTheImageGivesWayInTheNextContainer(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	image := func() {
		for _, name := range []string{"conf", "model/deep/x"} {
			file := filepath.Join(app, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, []byte("image"), 0o600))
		}
	}
	image()
	s := storeWith(t, own)
	sends := func() io.Reader { return stream(t, entry{name: "conf/a", text: "a"}, entry{name: "model", text: "m"}) }
	require.ErrorContains(t, s.stage(sends(), app, nil), "Delete it there")
	require.NoError(t, errors.Join(os.Remove(filepath.Join(app, "conf")), os.RemoveAll(filepath.Join(app, "model"))))
	require.NoError(t, s.stage(sends(), app, nil))
	require.NoError(t, s.apply())
	for range 2 {
		require.NoError(t, os.RemoveAll(app))
		image()
		_, err := s.restore()
		require.NoError(t, err)
		require.Equal(t, "a", textOf(t, filepath.Join(app, "conf", "a")))
		require.Equal(t, "m", textOf(t, filepath.Join(app, "model")))
	}

	// On a volume it may be the work of code since.
	require.NoError(t, os.RemoveAll(filepath.Join(app, "conf")))
	conf := filepath.Join(app, "conf")
	require.NoError(t, os.WriteFile(conf, []byte("of hours"), 0o600))
	_, err := storeWith(t, own, app).restore()
	require.ErrorContains(t, err, "conf is no folder")
	require.Equal(t, "of hours", textOf(t, conf))
}

// What the code has written into a folder since it was looked at stays.
func TestAFolderWithOtherFilesDoesNotBecomeAFile(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	s := storeWith(t, own)
	require.NoError(t, s.stage(stream(t, entry{name: "out/a", text: "a"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, s.stage(stream(t, entry{name: "out", text: "new"}), app, []string{"out/a"}))
	require.NoError(t, os.WriteFile(filepath.Join(app, "out", "checkpoint"), nil, 0o600))
	require.ErrorContains(t, s.apply(), app+"/out cannot be written: in the pod it is a folder, with out/checkpoint")
	require.Equal(t, "a", textOf(t, filepath.Join(app, "out", "a")))
	require.FileExists(t, filepath.Join(app, "out", "checkpoint"))
}

// Where a file becomes a folder, and a folder a file, they meet in each other's way.
func TestReplicasThatShareAFolderMakeWayInIt(t *testing.T) {
	for range 8 {
		app := t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Join(app, "model", "deep"), 0o755))
		for _, file := range []string{"conf", "model/deep/x", "model/y"} {
			require.NoError(t, os.WriteFile(filepath.Join(app, file), nil, 0o600))
		}
		stores, failed := make([]*store, 8), make([]error, 8)
		for i := range stores {
			stores[i] = storeWith(t, t.TempDir())
			sent := stream(t, entry{name: "conf/a", text: "a"}, entry{name: "conf/deep/b", text: "b"}, entry{name: "model", text: "m"})
			require.NoError(t, stores[i].stage(sent, app, []string{"conf", "model/deep/x", "model/y"}))
		}
		var all sync.WaitGroup
		for i, s := range stores {
			all.Go(func() { failed[i] = s.apply() })
		}
		all.Wait()
		require.NoError(t, errors.Join(failed...))
		for file, text := range map[string]string{"conf/a": "a", "conf/deep/b": "b", "model": "m"} {
			require.Equal(t, text, textOf(t, filepath.Join(app, file)))
		}
	}
}
