package develop

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// entry is one of a tar stream.
type entry struct {
	name, text string
	kind       byte
	link       string
	size       int64 // if it is not that of the text: the stream is cut
}

func stream(t *testing.T, entries ...entry) io.Reader {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: 0o750, Size: max(e.size, int64(len(e.text)))}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.text)
		require.NoError(t, err)
	}
	if err := w.Close(); err != nil {
		require.ErrorContains(t, err, "missed writing")
	}
	return &out
}

// storeWith is a store in a container that has these volumes.
func storeWith(t *testing.T, own string, volumes ...string) *store {
	t.Helper()
	mounts := "22 1 0:20 / / rw - overlay o rw\n"
	for _, volume := range volumes {
		at, err := filepath.EvalSymlinks(filepath.Dir(volume))
		require.NoError(t, err)
		mounts += "23 22 8:1 /v " + strings.ReplaceAll(filepath.Join(at, filepath.Base(volume)), " ", `\040`) + " rw - ext4 /d rw\n"
	}
	s := newStore(own)
	s.mounts = filepath.Join(t.TempDir(), "mountinfo")
	require.NoError(t, os.WriteFile(s.mounts, []byte(mounts), 0o600))
	return s
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

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

// A file that is mounted by subPath, as a key of a ConfigMap, can be neither replaced nor deleted.
func TestAMountIsNotReplaced(t *testing.T) {
	app := filepath.Join(t.TempDir(), "my app")
	require.NoError(t, os.MkdirAll(filepath.Join(app, "conf"), 0o755))
	require.NoError(t, os.Symlink("conf", filepath.Join(app, "linked")))
	s := storeWith(t, t.TempDir(), filepath.Join(app, "conf", "c.yaml"))
	for _, file := range []string{"conf/c.yaml", "linked/c.yaml"} {
		want := filepath.Join(app, file) + " cannot be replaced: something is mounted on it"
		require.ErrorContains(t, s.stage(stream(t, entry{name: file}), app, nil), want)
		require.ErrorContains(t, s.stage(stream(t, entry{name: "x"}), app, []string{file}), want)
	}
	require.NoError(t, s.stage(stream(t, entry{name: "conf/d.yaml"}), app, nil))
	s.mounts = "/proc/self/mountinfo"
	require.True(t, s.mounted()["/proc"], "the kernel says so")
}

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

// On a volume files outlast the container. What code has written there is not the image's, though it has the name of a file that a developer has sent
// or deleted. It may be older, as a copy is that keeps the time.
func TestWhatCodeHasWrittenOnAVolumeStaysInTheNextContainer(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	volume := filepath.Join(app, "out")
	require.NoError(t, os.Mkdir(volume, 0o755))
	s := storeWith(t, own, volume)
	require.NoError(t, s.stage(stream(t, entry{name: "out/result.json", text: "x"}, entry{name: "result.json", text: "x"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, s.stage(stream(t), app, []string{"out/result.json", "result.json"}))
	require.NoError(t, s.apply())
	for _, result := range []string{filepath.Join(volume, "result.json"), filepath.Join(app, "result.json")} {
		require.NoError(t, os.WriteFile(result, []byte("of hours"), 0o600))
		require.NoError(t, os.Chtimes(result, time.Time{}, time.Now().Add(-time.Hour)))
	}
	require.NoError(t, s.stage(stream(t, entry{name: "out/state", text: "y"}, entry{name: "out/lost", text: "z"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, os.WriteFile(filepath.Join(volume, "state"), []byte("of hours, too"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(volume, "lost")))
	_, err := s.restore()
	require.NoError(t, err)
	require.Equal(t, "of hours", textOf(t, filepath.Join(volume, "result.json")))
	require.Equal(t, "of hours, too", textOf(t, filepath.Join(volume, "state")))
	require.Equal(t, "z", textOf(t, filepath.Join(volume, "lost")))
	require.NoFileExists(t, filepath.Join(app, "result.json"), "the image has it")
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
