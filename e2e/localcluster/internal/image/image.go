package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// Spec says what goes into an image.
type Spec struct {
	// Ref is the image's name with a tag, e.g. localhost/manager:dev.
	Ref string
	// Binary is the static Linux binary on this machine.
	Binary string
	// Entrypoint is the absolute path of the binary inside the image.
	Entrypoint string
	// User is a uid:gid, which PodSecurity's runAsNonRoot can check; names cannot be checked.
	User string
	// Add holds further files or folders.
	Add []Addition
}

// Addition is a file or folder of this machine and its absolute path in the image.
type Addition struct {
	Source, Target string
}

// WriteArchive builds the image and writes it as a docker-archive tar to out.
func WriteArchive(spec Spec, out string) error {
	tag, err := name.NewTag(spec.Ref)
	if err == nil && !strings.Contains(path.Base(spec.Ref), ":") {
		err = errors.New("it has no tag") // "latest" by accident helps nobody
	}
	if err != nil {
		return fmt.Errorf("image reference %q: want name:tag, e.g. localhost/x:dev: %w", spec.Ref, err)
	}
	img, err := build(spec)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(out, tag, img); err != nil {
		return fmt.Errorf("write image archive %s: %w", out, err)
	}
	return nil
}

func build(spec Spec) (v1.Image, error) {
	if !path.IsAbs(spec.Entrypoint) {
		return nil, fmt.Errorf("entrypoint %q: give an absolute path inside the image, e.g. /manager", spec.Entrypoint)
	}
	arch, err := architecture(spec.Binary)
	if err != nil {
		return nil, err
	}
	content, err := layerTar(spec)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the image's layer: %w", err)
	}
	img, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("append the image's layer: %w", err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's config: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Config = v1.Config{
		Entrypoint: []string{spec.Entrypoint},
		User:       spec.User,
		WorkingDir: "/",
		Env:        []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
	}
	return mutate.ConfigFile(img, config)
}

// architecture also refuses binaries that could not start in an empty image,
// where the kernel's only message would be "no such file or directory".
func architecture(binary string) (string, error) {
	file, err := elf.Open(binary)
	if err != nil {
		return "", fmt.Errorf("read %s as a Linux binary (build it with GOOS=linux CGO_ENABLED=0): %w", binary, err)
	}
	defer file.Close()
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return "", fmt.Errorf("%s is dynamically linked and cannot run in an empty image: build it with CGO_ENABLED=0", binary)
		}
	}
	switch file.Machine {
	case elf.EM_X86_64:
		return "amd64", nil
	case elf.EM_AARCH64:
		return "arm64", nil
	default:
		return "", fmt.Errorf("%s is for %v: build it for amd64 or arm64", binary, file.Machine)
	}
}
