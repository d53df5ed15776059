package develop

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
