package develop

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsNotTaken(t *testing.T) {
	app := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(app, "folder"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(app, "folder", "theirs"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(app, "file"), nil, 0o600))
	outside := t.TempDir()
	require.NoError(t, os.Symlink(outside, filepath.Join(app, "out")))
	own := t.TempDir()
	for want, c := range map[string]struct {
		dir     string
		entries []entry
		deleted []string
	}{
		`file "../x" is not below the folder`:                                            {app, []entry{{name: "../x"}}, nil},
		`file "/etc/x" is not below the folder`:                                          {app, []entry{{name: "/etc/x"}}, nil},
		`file "a/../../x" is not below the folder`:                                       {app, []entry{{name: "a/../../x"}}, nil},
		`"l" is neither a file nor a folder`:                                             {app, []entry{{name: "l", kind: tar.TypeSymlink, link: "/etc/passwd"}}, nil},
		`"h" is neither a file nor a folder`:                                             {app, []entry{{name: "h", kind: tar.TypeLink, link: "/etc/passwd"}}, nil},
		`path escapes from parent`:                                                       {app, []entry{{name: "out/x", text: "x"}}, nil},
		`file "../y" to be deleted`:                                                      {app, []entry{{name: "x"}}, []string{"../y"}},
		`files of more than 64 MiB are sent`:                                             {app, []entry{{name: "big", size: MaxBytes + 1}}, nil},
		`want the absolute path of a folder`:                                             {"app", []entry{{name: "x"}}, nil},
		`want the absolute path of a folder below`:                                       {"/", []entry{{name: "x"}}, nil},
		`is the operator's own`:                                                          {filepath.Join(own, "state"), []entry{{name: "x"}}, nil},
		app + `/folder cannot be written: in the pod it is a folder, with folder/theirs`: {app, []entry{{name: "folder"}}, nil},
		`file/x cannot be written: in the pod ` + app + `/file is no folder`:             {app, []entry{{name: "file/x"}}, nil},
		`file/sub/x cannot be written: in the pod ` + app + `/file is no folder`:         {app, []entry{{name: "file/sub/x"}}, []string{"folder/theirs"}},
		`cannot write in /sys: `:                                                         {"/sys/app", []entry{{name: "x"}}, nil},
		`at most 180 bytes`:                                                              {"/" + strings.Repeat("x", 200), []entry{{name: "x"}}, nil},
	} {
		s := newStore(own)
		require.ErrorContains(t, s.stage(stream(t, c.entries...), c.dir, c.deleted), want)
	}
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left, "a link in the folder leads nowhere")
}

func TestFilesAreAppliedKeptAndRestored(t *testing.T) {
	own, app := t.TempDir(), filepath.Join(t.TempDir(), "app")
	s := storeWith(t, own)
	require.NoError(t, s.stage(stream(t, entry{name: "./lib/", kind: tar.TypeDir}, entry{name: "./lib/x.py", text: "x"}, entry{name: "run", text: "y"}), app, nil))
	require.NoDirExists(t, app)
	require.NoError(t, s.apply())
	require.Equal(t, "x", textOf(t, filepath.Join(app, "lib", "x.py")))
	info, err := os.Stat(filepath.Join(app, "run"))
	require.NoError(t, err)
	require.EqualValues(t, 0o750, info.Mode().Perm())
	require.Zero(t, info.ModTime().Unix(), "that of the stream")
	require.Error(t, s.apply(), "nothing was sent since")

	require.NoError(t, s.stage(stream(t, entry{name: "lib/x.py", text: "new"}), app, []string{"run", "absent/y"}))
	require.NoError(t, s.apply())
	require.NoFileExists(t, filepath.Join(app, "run"))
	require.NoError(t, s.stage(stream(t, entry{name: "never", text: "z"}), app, nil)) // its developer leaves

	// The next container has the files of its image.
	require.NoError(t, os.RemoveAll(app))
	dirs, err := s.restore()
	require.NoError(t, err)
	require.Equal(t, []string{app}, dirs)
	require.Equal(t, "new", textOf(t, filepath.Join(app, "lib", "x.py")))
	require.NoFileExists(t, filepath.Join(app, "run"))
	require.NoFileExists(t, filepath.Join(app, "never"))
	dirs, err = Restore(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, dirs)
}

// A disk may be full, or a folder changed, after all was looked at.
func TestAllFilesAreReplacedOrNone(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(app, "a"), []byte("old"), 0o600))
	s := storeWith(t, own)
	require.NoError(t, s.stage(stream(t, entry{name: "a", text: "new"}, entry{name: "lib/x", text: "x"}), app, nil))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(app, "lib")))
	require.ErrorContains(t, s.apply(), "write "+app+"/lib/x: ")
	require.Equal(t, "old", textOf(t, filepath.Join(app, "a")))
	left, err := os.ReadDir(app)
	require.NoError(t, err)
	require.Len(t, left, 2, "no trace is left: %v", left)
	dirs, err := s.restore()
	require.NoError(t, err)
	require.Empty(t, dirs, "nothing was kept")
}

// A pod takes so much, however often somebody syncs.
func TestAPodKeepsABoundedNumberOfBytes(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	kept := filepath.Join(own, "state", "synced", "kept", name("/other"))
	require.NoError(t, os.MkdirAll(kept, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(kept, "big"), nil, 0o600))
	require.NoError(t, os.Truncate(filepath.Join(kept, "big"), MaxBytes)) // a hole: it takes no room
	s := storeWith(t, own)
	require.ErrorContains(t, s.stage(stream(t, entry{name: "x", text: "x"}), app, nil), "with those that were sent before")
	require.NoError(t, s.stage(stream(t, entry{name: "big", text: "small"}), "/other", nil), "it is replaced")
}
