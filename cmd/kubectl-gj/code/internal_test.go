package code

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// unarchived returns the names in a tar stream, with the contents.
func unarchived(t *testing.T, stream []byte) map[string]string {
	t.Helper()
	all := map[string]string{}
	for in := tar.NewReader(bytes.NewReader(stream)); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		all[h.Name] = string(text)
	}
}

func TestWhatIsSynced(t *testing.T) {
	src, outside := t.TempDir(), t.TempDir()
	for _, file := range []string{"train.py", "lib/x.py", "lib/__pycache__/x.pyc", ".git/HEAD", "data/big.bin", "lib/weights.pt", "a.py~", "deleted.py"} {
		write(t, filepath.Join(src, file), file)
	}
	write(t, filepath.Join(outside, "secret"), "secret")
	for link, to := range map[string]string{"inside": "train.py", "out": filepath.Join(outside, "secret"), "up": "../../etc/passwd", "dangles": "nowhere", "dir": "lib"} {
		require.NoError(t, os.Symlink(to, filepath.Join(src, link)))
	}
	f, err := NewFolder(src+":/app/", []string{"data/", "*.pt"})
	require.NoError(t, err)
	require.Equal(t, "/app", f.Dir)
	files, left, err := f.Look()
	require.NoError(t, err)
	changed, deleted := files.since(nil)
	require.Equal(t, []string{"deleted.py", "inside", "lib/x.py", "train.py"}, changed)
	require.Empty(t, deleted)
	require.Len(t, left, 4, "links that lead out, to a folder, or nowhere: %v", left)
	require.NoError(t, os.Remove(filepath.Join(src, "deleted.py")))
	stream, sent, err := f.archive(changed, files)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"inside": "train.py", "lib/x.py": "lib/x.py", "train.py": "train.py"}, unarchived(t, stream), "one was deleted meanwhile")
	require.Equal(t, []string{"inside", "lib/x.py", "train.py"}, sent)

	write(t, filepath.Join(src, "train.py"), "other")
	_, _, err = f.archive(changed, files)
	require.ErrorAs(t, err, new(changedError), "half of it may have been read")
	require.ErrorContains(t, err, "inside changed while it was read")
	now, _, err := f.Look()
	require.NoError(t, err)
	changed, deleted = now.since(files)
	require.Equal(t, []string{"inside", "train.py"}, changed)
	require.Equal(t, []string{"deleted.py"}, deleted)
}

func TestOneFileIsSynced(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "train.py"), "x")
	for pair, want := range map[string]string{"train.py:/app/": "/app train.py", "train.py:/app/main.py": "/app main.py"} {
		f, err := NewFolder(src+"/"+pair, nil)
		require.NoError(t, err)
		files, _, err := f.Look()
		require.NoError(t, err)
		changed, _ := files.since(nil)
		require.Equal(t, want, f.Dir+" "+changed[0])
		stream, _, err := f.archive(changed, files)
		require.NoError(t, err)
		require.Equal(t, map[string]string{changed[0]: "x"}, unarchived(t, stream))
	}
}

// A file that is named is wanted, wherever its link leads.
func TestALinkThatIsNamedIsFollowed(t *testing.T) {
	src, outside := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "shared.py"), "x")
	require.NoError(t, os.Symlink(filepath.Join(outside, "shared.py"), filepath.Join(src, "train.py")))
	f, err := NewFolder(src+"/train.py:/app/", nil)
	require.NoError(t, err)
	files, _, err := f.Look()
	require.NoError(t, err)
	stream, _, err := f.archive([]string{"train.py"}, files)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"train.py": "x"}, unarchived(t, stream))
}

func TestWhatCannotBeSynced(t *testing.T) {
	src := t.TempDir()
	write(t, filepath.Join(src, "train.py"), "x")
	for _, pair := range []string{src, src + ":app", src + ":/", ":/app", src + "/absent:/app", filepath.Join(src, "train.py") + ":/x"} {
		_, err := NewFolder(pair, nil)
		require.Error(t, err, pair)
	}
	_, err := NewFolder(src+":/app", []string{"["})
	require.ErrorContains(t, err, "--exclude=[")

	big := filepath.Join(src, "big.bin")
	write(t, big, "")
	require.NoError(t, os.Truncate(big, develop.MaxBytes)) // a hole: it takes no room
	f, err := NewFolder(src+":/app", nil)
	require.NoError(t, err)
	_, _, err = f.Look()
	require.ErrorContains(t, err, "The largest seen is big.bin, of 64 MiB. Leave some out by --exclude")
}
