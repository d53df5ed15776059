package develop

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFolderWithAMountBelowDoesNotBecomeAFile(t *testing.T) {
	app := t.TempDir()
	mount := filepath.Join(app, "conf", "deep", "empty dir")
	require.NoError(t, os.MkdirAll(mount, 0o755))
	s := storeWith(t, t.TempDir(), mount)
	want := app + "/conf cannot become a file: in the pod something is mounted at " + mount + ". Leave it out by --exclude, choose another name, or have the job mount that elsewhere"
	require.EqualError(t, s.stage(stream(t, entry{name: "conf", text: "c"}), app, nil), want)
	require.NoError(t, s.stage(stream(t, entry{name: "conf/deep/x", text: "x"}, entry{name: "con", text: "c"}), app, nil), "beside it")
	require.NoError(t, s.apply())
}

// linked returns a folder in which lib is a link to src.
func linked(t *testing.T) (app string) {
	app = t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(app, "src"), 0o755))
	require.NoError(t, os.Symlink("src", filepath.Join(app, "lib")))
	return app
}

func TestTwoNamesOfOneFileAreRefused(t *testing.T) {
	app := linked(t)
	s := storeWith(t, t.TempDir())
	want := "lib/x and src/x are one file in the pod, " + app + "/src/x: a link leads there. Leave one out by --exclude, or delete the link in the pod"
	require.EqualError(t, s.stage(stream(t, entry{name: "lib/x", text: "1"}, entry{name: "src/x", text: "2"}), app, nil), want)
	require.EqualError(t, s.stage(stream(t, entry{name: "lib/x", text: "1"}), app, []string{"./src/x"}), want, "what came would be deleted")
	require.NoError(t, s.stage(stream(t, entry{name: "lib/x", text: "1"}, entry{name: "src/y", text: "2"}), app, nil))
	require.NoError(t, s.apply())
	require.Equal(t, "1", textOf(t, filepath.Join(app, "src", "x")))
}

// Of two paths to one folder, which differ by a link, the last that came holds, also in the next container.
func TestAFolderIsKeptOnceByWhateverPathItIsGiven(t *testing.T) {
	for _, names := range [][2]string{{"lib", "src"}, {"src", "lib"}} {
		app := linked(t)
		s := storeWith(t, t.TempDir())
		for i, name := range names {
			require.NoError(t, s.stage(stream(t, entry{name: "new/x", text: name}), filepath.Join(app, name, "sub"), nil))
			require.NoError(t, s.apply(), i)
		}
		require.NoError(t, os.RemoveAll(filepath.Join(app, "src", "sub")))
		dirs, err := s.restore()
		require.NoError(t, err)
		require.Equal(t, []string{filepath.Join(app, "src", "sub")}, dirs)
		require.Equal(t, names[1], textOf(t, filepath.Join(app, "src", "sub", "new", "x")))
	}
	// So does the last of two names of one file, in one folder and in one below.
	for _, dir := range []string{"", "src"} {
		app := linked(t)
		s := storeWith(t, t.TempDir())
		require.NoError(t, s.stage(stream(t, entry{name: "lib/x", text: "old"}, entry{name: "lib/gone", text: "old"}), app, nil))
		require.NoError(t, s.apply())
		in := filepath.Join("src", "x")
		if dir == "src" {
			in = "x"
		}
		require.NoError(t, s.stage(stream(t, entry{name: in, text: "new"}), filepath.Join(app, dir), []string{filepath.Join(filepath.Dir(in), "gone")}))
		require.NoError(t, s.apply())
		require.NoError(t, os.Remove(filepath.Join(app, "src", "x")))
		_, err := s.restore()
		require.NoError(t, err)
		require.Equal(t, "new", textOf(t, filepath.Join(app, "src", "x")))
		require.NoFileExists(t, filepath.Join(app, "src", "gone"))
	}
	// And so does a folder where a folder above has brought a file, and the reverse.
	for _, order := range [][2]int{{0, 1}, {1, 0}} {
		app := t.TempDir()
		s := storeWith(t, t.TempDir())
		for _, i := range order {
			require.NoError(t, os.RemoveAll(filepath.Join(app, "d")))
			require.NoError(t, s.stage(stream(t, entry{name: []string{"d/a", "a/a"}[i], text: "x"}), filepath.Join(app, []string{"", "d"}[i]), nil))
			require.NoError(t, s.apply())
		}
		require.NoError(t, os.RemoveAll(filepath.Join(app, "d")))
		_, err := s.restore()
		require.NoError(t, err)
		last := []string{"d/a", "d/a/a"}[order[1]]
		require.FileExists(t, filepath.Join(app, last))
		require.NoError(t, s.stage(stream(t), app, []string{last}))
		require.NoError(t, s.apply())
		require.NoError(t, os.RemoveAll(filepath.Join(app, "d")))
		_, err = s.restore()
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(app, "d", "a"), "what it has covered does not come back")
	}
	app, own := t.TempDir(), t.TempDir()
	require.NoError(t, os.Symlink(own, filepath.Join(app, "own")))
	require.ErrorContains(t, newStore(own).stage(stream(t, entry{name: "x"}), filepath.Join(app, "own", "state"), nil), "is the operator's own")
}
