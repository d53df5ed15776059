package controllers_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumsFile is a version's list of its CRDs, as sha256sum writes and reads it in the checkout. The CRDs themselves are in git, under
// the version's tag: some 59,000 lines that are not kept twice.
const sumsFile = "crd.sha256"

func sumOf(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text)) }

// writeSums lists the CRDs of a checkout.
func writeSums(t *testing.T, checkout, folder string) {
	t.Helper()
	var sums strings.Builder
	for _, crds := range []string{"deploy/crd", "deploy/kubeflow/crd"} {
		files, err := filepath.Glob(filepath.Join(checkout, crds, "*_*.yaml"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			fmt.Fprintf(&sums, "%s  %s/%s\n", sumOf(text), crds, filepath.Base(file))
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(folder, sumsFile), []byte(sums.String()), 0o644))
}

// crdsOf is a new folder with the CRDs of the version that a folder is named after. A file that the checkout no longer has as it was
// comes from the version's tag.
func crdsOf(t *testing.T, checkout, folder string) string {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(folder, sumsFile))
	require.NoError(t, err)
	crds := t.TempDir()
	for line := range strings.Lines(string(sums)) {
		sum, file, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, line)
		text, err := os.ReadFile(filepath.Join(checkout, file))
		if err != nil || sumOf(text) != sum {
			tag := filepath.Base(folder)
			text, err = exec.CommandContext(t.Context(), "git", "-C", checkout, "show", tag+":"+file).Output()
			require.NoError(t, err, "git must know the tag %s, which has %s as it was: git fetch --tags", tag, file)
			require.Equal(t, sum, sumOf(text), "%s of %s is not the one under which the jobs were stored", file, tag)
		}
		require.NoError(t, os.WriteFile(filepath.Join(crds, filepath.Base(file)), text, 0o600))
	}
	return crds
}

func TestTheCRDsOfAVersionAreThoseOfItsTag(t *testing.T) {
	checkout, folder := t.TempDir(), filepath.Join(t.TempDir(), "v0.0.1")
	require.NoError(t, os.Mkdir(folder, 0o755))
	write := func(file, text string) {
		file = filepath.Join(checkout, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	git := func(args ...string) {
		args = append([]string{"-C", checkout, "-c", "user.name=test", "-c", "user.email=test@example.com"}, args...)
		text, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		require.NoError(t, err, string(text))
	}
	write("deploy/crd/a_changed.yaml", "as it was")
	write("deploy/crd/a_gone.yaml", "gone")
	write("deploy/kubeflow/crd/b_same.yaml", "the same")
	writeSums(t, checkout, folder)
	git("init", "--quiet")
	git("add", ".")
	git("commit", "--quiet", "--message", "the release")
	git("tag", "v0.0.1")
	write("deploy/crd/a_changed.yaml", "as it is")
	require.NoError(t, os.Remove(filepath.Join(checkout, "deploy/crd/a_gone.yaml")))

	crds := crdsOf(t, checkout, folder)
	for name, want := range map[string]string{"a_changed.yaml": "as it was", "a_gone.yaml": "gone", "b_same.yaml": "the same"} {
		have, err := os.ReadFile(filepath.Join(crds, name))
		require.NoError(t, err)
		require.Equal(t, want, string(have))
	}
}
