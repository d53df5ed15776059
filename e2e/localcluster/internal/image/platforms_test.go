package image

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

func TestAnImageForSeveralArchitectures(t *testing.T) {
	binaries := []string{program(t, elf.EM_X86_64), program(t, elf.EM_AARCH64)}
	spec := Spec{Ref: "localhost/x:dev", Entrypoint: "/x", User: "65532:65532"}
	var archives [2][]byte
	var digests [2]v1.Hash
	out := filepath.Join(t.TempDir(), "x.tar")
	for i := range archives {
		var err error
		digests[i], err = WritePlatforms(spec, binaries, out)
		require.NoError(t, err)
		archives[i], err = os.ReadFile(out)
		require.NoError(t, err)
		require.NoError(t, os.Chtimes(binaries[0], time.Time{}, time.Unix(1, 0)))
	}
	require.Equal(t, archives[0], archives[1], "the same input is the same archive")
	require.Equal(t, digests[0], digests[1])

	folder := t.TempDir()
	text, err := exec.CommandContext(t.Context(), "tar", "-xf", out, "-C", folder).CombinedOutput()
	require.NoError(t, err, string(text))
	top, err := layout.ImageIndexFromPath(folder)
	require.NoError(t, err)
	content, err := top.IndexManifest()
	require.NoError(t, err)
	require.Len(t, content.Manifests, 1)
	require.Equal(t, "localhost/x:dev", content.Manifests[0].Annotations["io.containerd.image.name"])
	require.Equal(t, digests[0], content.Manifests[0].Digest)
	index, err := top.ImageIndex(digests[0])
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	content, err = index.IndexManifest()
	require.NoError(t, err)
	var platforms []string
	for _, m := range content.Manifests {
		require.Equal(t, types.OCIManifestSchema1, m.MediaType)
		require.Empty(t, m.ArtifactType)
		platforms = append(platforms, m.Platform.String())
		img, err := index.Image(m.Digest)
		require.NoError(t, err)
		config, err := img.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, m.Platform.Architecture, config.Architecture)
		require.Equal(t, []string{"/x"}, config.Config.Entrypoint)
	}
	require.Equal(t, []string{"linux/amd64", "linux/arm64"}, platforms)
}

func TestOneBinaryForEachArchitecture(t *testing.T) {
	binaries := []string{program(t, elf.EM_X86_64), program(t, elf.EM_X86_64)}
	out := filepath.Join(t.TempDir(), "x.tar")
	_, err := WritePlatforms(Spec{Ref: "localhost/x:dev", Entrypoint: "/x"}, binaries, out)
	require.ErrorContains(t, err, "both for amd64")
	_, err = WritePlatforms(Spec{Ref: "localhost/x", Entrypoint: "/x"}, binaries, out)
	require.ErrorContains(t, err, "localhost/x:dev")
}
