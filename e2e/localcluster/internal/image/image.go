package image

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
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
	// Base is the file of a layer below all others, as tar, compressed or not (default: nothing is below).
	Base string
	// Binary is a static Linux binary on this machine; only an image with a Base can do without.
	Binary string
	// Entrypoint is the absolute path of the binary inside the image.
	Entrypoint string
	// User is a uid:gid, which PodSecurity's runAsNonRoot can check; names cannot be checked.
	User string
	// Env holds variables besides PATH, as NAME=value.
	Env []string
	// StopSignal is what the first process gets when its container is stopped; "" is the runtime's own, SIGTERM.
	StopSignal string
	// Add holds further files or folders.
	Add []Addition
	// Beside holds further files that lie beside the binary: Source is what their names have more than its own.
	Beside []Addition
}

// Addition is a file or folder of this machine and its absolute path in the image.
type Addition struct {
	Source, Target string
}

// WriteArchive builds the image and writes it as a docker-archive tar to out.
func WriteArchive(spec Spec, out string) error {
	tag, err := tagOf(spec.Ref)
	if err != nil {
		return err
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

func tagOf(ref string) (name.Tag, error) {
	tag, err := name.NewTag(ref)
	if err == nil && !strings.Contains(path.Base(ref), ":") {
		err = errors.New("it has no tag") // "latest" by accident helps nobody
	}
	if err != nil {
		return tag, fmt.Errorf("image reference %q: want name:tag, e.g. localhost/x:dev: %w", ref, err)
	}
	return tag, nil
}

func build(spec Spec) (v1.Image, error) {
	config := v1.Config{User: spec.User, WorkingDir: "/", StopSignal: spec.StopSignal, Env: append([]string{"PATH=/usr/local/bin:/usr/bin:/bin"}, spec.Env...)}
	arch := runtime.GOARCH
	if spec.Binary != "" || spec.Base == "" {
		if !path.IsAbs(spec.Entrypoint) {
			return nil, fmt.Errorf("entrypoint %q: give an absolute path inside the image, e.g. /manager", spec.Entrypoint)
		}
		var err error
		if arch, err = architecture(spec.Binary); err != nil {
			return nil, err
		}
		config.Entrypoint = []string{spec.Entrypoint}
	}
	layers, err := layersOf(spec)
	if err != nil {
		return nil, err
	}
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		return nil, fmt.Errorf("append the image's layers: %w", err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the image's config: %w", err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Config = "linux", arch, config
	return mutate.ConfigFile(img, file)
}

func layersOf(spec Spec) ([]v1.Layer, error) {
	content, err := layerTar(spec)
	if err != nil {
		return nil, err
	}
	top, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	})
	if err != nil {
		return nil, fmt.Errorf("make the image's layer: %w", err)
	}
	if spec.Base == "" {
		return []v1.Layer{top}, nil
	}
	base, err := tarball.LayerFromFile(spec.Base)
	if err != nil {
		return nil, fmt.Errorf("read the image's base layer %s: %w", spec.Base, err)
	}
	return []v1.Layer{base, top}, nil
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
