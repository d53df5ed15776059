package image

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"debug/elf"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/stretchr/testify/require"
)

// program writes the smallest file that is a Linux binary, with the given segments.
func program(t *testing.T, machine elf.Machine, segments ...elf.Prog64) string {
	t.Helper()
	header := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Phoff: 64,
		Ehsize: 64, Phentsize: 56, Phnum: uint16(len(segments)),
	}
	copy(header.Ident[:], []byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)})
	var content bytes.Buffer
	require.NoError(t, binary.Write(&content, binary.LittleEndian, header))
	require.NoError(t, binary.Write(&content, binary.LittleEndian, segments))
	path := filepath.Join(t.TempDir(), "program")
	require.NoError(t, os.WriteFile(path, content.Bytes(), 0o700))
	return path
}

func TestArchiveHoldsTheBinaryAndTheConfig(t *testing.T) {
	extra := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(extra, "run.sh"), []byte("#!"), 0o700))
	spec := Spec{
		Ref: "localhost/x:dev", Binary: program(t, elf.EM_AARCH64), Entrypoint: "/opt/x", User: "65532:65532",
		Add: []Addition{{Source: extra, Target: "/extra"}},
	}
	out := filepath.Join(t.TempDir(), "x.tar")
	require.NoError(t, WriteArchive(spec, out))

	img, err := tarball.ImageFromPath(out, nil)
	require.NoError(t, err)
	config, err := img.ConfigFile()
	require.NoError(t, err)
	require.Equal(t, "arm64", config.Architecture)
	require.Equal(t, []string{"/opt/x"}, config.Config.Entrypoint)
	require.Equal(t, "65532:65532", config.Config.User)

	modes := map[string]int64{}
	content := mutate.Extract(img)
	defer content.Close()
	for reader := tar.NewReader(content); ; {
		header, err := reader.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.True(t, header.ModTime.IsZero() || header.ModTime.Equal(time.Unix(0, 0)), header.Name)
		modes[filepath.Clean(header.Name)] = header.Mode
	}
	require.Equal(t, map[string]int64{
		"tmp": 0o1777, "home": 0o755, "home/nonroot": 0o755, "etc": 0o755, "etc/passwd": 0o644, "etc/group": 0o644,
		"opt": 0o755, "opt/x": 0o755, "extra": 0o755, "extra/run.sh": 0o755,
	}, modes)
}

func TestTheSameInputIsTheSameArchive(t *testing.T) {
	spec := Spec{Ref: "localhost/x:dev", Binary: program(t, elf.EM_X86_64), Entrypoint: "/x"}
	var archives [2][]byte
	for i := range archives {
		out := filepath.Join(t.TempDir(), "x.tar")
		require.NoError(t, WriteArchive(spec, out))
		content, err := os.ReadFile(out)
		require.NoError(t, err)
		archives[i] = content
		require.NoError(t, os.Chtimes(spec.Binary, time.Time{}, time.Unix(1, 0)))
	}
	require.Equal(t, archives[0], archives[1])
}

func TestRefusals(t *testing.T) {
	static := program(t, elf.EM_X86_64)
	for name, tc := range map[string]struct {
		spec Spec
		want string
	}{
		"a dynamic binary would not start": {Spec{Ref: "localhost/x:dev", Entrypoint: "/x", Binary: program(t, elf.EM_X86_64, elf.Prog64{Type: uint32(elf.PT_INTERP)})}, "CGO_ENABLED=0"},
		"a script is no binary":            {Spec{Ref: "localhost/x:dev", Entrypoint: "/x", Binary: "image_test.go"}, "GOOS=linux"},
		"an unknown machine":               {Spec{Ref: "localhost/x:dev", Entrypoint: "/x", Binary: program(t, elf.EM_MIPS)}, "amd64 or arm64"},
		"a relative entrypoint":            {Spec{Ref: "localhost/x:dev", Entrypoint: "x", Binary: static}, "absolute path"},
		"a name without a tag":             {Spec{Ref: "localhost/x", Entrypoint: "/x", Binary: static}, "localhost/x:dev"},
		"a relative target":                {Spec{Ref: "localhost/x:dev", Entrypoint: "/x", Binary: static, Add: []Addition{{"image.go", "y"}}}, "absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorContains(t, WriteArchive(tc.spec, filepath.Join(t.TempDir(), "x.tar")), tc.want)
		})
	}
}
