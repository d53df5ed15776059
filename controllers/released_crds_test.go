package controllers_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A version's CRDs are kept twice in its folder: crdsFile has their texts, by their files in the checkout. sumsFile has their sums, as sha256sum
// writes and reads them in the checkout: a release is made only of these. `make prepare-release` writes both.
const (
	crdsFile = "crds.json.gz"
	sumsFile = "crd.sha256"
)

// keepCRDs writes both files for the CRDs of a checkout.
func keepCRDs(t *testing.T, checkout, folder string) {
	t.Helper()
	texts := map[string]string{}
	for _, crds := range []string{"deploy/crd", "deploy/kubeflow/crd"} {
		files, err := filepath.Glob(filepath.Join(checkout, crds, "*_*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts[crds+"/"+filepath.Base(file)] = string(text)
		}
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	require.NoError(t, json.NewEncoder(w).Encode(texts))
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(filepath.Join(folder, crdsFile), packed.Bytes(), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, sumsFile), []byte(sumsOf(texts)), 0o644))
}

// sumsOf is what sha256sum writes of these files.
func sumsOf(texts map[string]string) string {
	var sums strings.Builder
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256([]byte(texts[file])), file)
	}
	return sums.String()
}

// keptCRDs are the texts of a version's CRDs, by their files, and the sums that the version was released with.
func keptCRDs(t *testing.T, folder string) (texts map[string]string, sums string) {
	t.Helper()
	packed, err := os.Open(filepath.Join(folder, crdsFile))
	require.NoError(t, err)
	defer func() { require.NoError(t, packed.Close()) }()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	require.NoError(t, json.NewDecoder(r).Decode(&texts))
	released, err := os.ReadFile(filepath.Join(folder, sumsFile))
	require.NoError(t, err)
	return texts, string(released)
}

// crdsOf is a new folder with the CRDs of the version that a folder is of.
func crdsOf(t *testing.T, folder string) string {
	t.Helper()
	texts, sums := keptCRDs(t, folder)
	require.Equal(t, sums, sumsOf(texts), "these are not the CRDs of which the release was made")
	crds := t.TempDir()
	for file, text := range texts {
		require.NoError(t, os.WriteFile(filepath.Join(crds, filepath.Base(file)), []byte(text), 0o600))
	}
	return crds
}

func TestTheCRDsOfAVersionStayAsTheyWere(t *testing.T) {
	checkout, folder := t.TempDir(), t.TempDir()
	write := func(file, text string) {
		file = filepath.Join(checkout, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("deploy/crd/a_changed.yaml", "as it was")
	write("deploy/crd/a_gone.yaml", "gone")
	write("deploy/kubeflow/crd/b_same.yaml", "the same")
	keepCRDs(t, checkout, folder)
	write("deploy/crd/a_changed.yaml", "as it is")
	require.NoError(t, os.Remove(filepath.Join(checkout, "deploy/crd/a_gone.yaml")))

	crds := crdsOf(t, folder)
	for name, want := range map[string]string{"a_changed.yaml": "as it was", "a_gone.yaml": "gone", "b_same.yaml": "the same"} {
		have, err := os.ReadFile(filepath.Join(crds, name))
		require.NoError(t, err)
		require.Equal(t, want, string(have))
	}
}
