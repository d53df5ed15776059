package image

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// WritePlatforms takes binaries, which are the same program for several architectures. It builds an image of each, and writes all images
// as one OCI archive to out. It returns the digest by which a registry will know them: the same binaries have the same one, and the same
// archive.
func WritePlatforms(spec Spec, binaries []string, out string) (v1.Hash, error) {
	if _, err := tagOf(spec.Ref); err != nil {
		return v1.Hash{}, err
	}
	index, err := indexOf(spec, binaries)
	if err != nil {
		return v1.Hash{}, err
	}
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return v1.Hash{}, fmt.Errorf("make a folder for the image: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return v1.Hash{}, fmt.Errorf("write the image to %s: %w", folder, err)
	}
	// The first is for containerd, which would not name what it imports otherwise.
	names := map[string]string{"io.containerd.image.name": spec.Ref, "org.opencontainers.image.ref.name": spec.Ref}
	if err := written.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return v1.Hash{}, fmt.Errorf("write the image to %s: %w", folder, err)
	}
	if err := archive(folder, out); err != nil {
		return v1.Hash{}, fmt.Errorf("write image archive %s: %w", out, err)
	}
	return index.Digest()
}

func indexOf(spec Spec, binaries []string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	seen := map[string]string{}
	for _, binary := range binaries {
		spec.Binary = binary
		img, err := build(spec)
		if err != nil {
			return nil, err
		}
		file, err := img.ConfigFile()
		if err != nil {
			return nil, fmt.Errorf("read the image's config: %w", err)
		}
		if other := seen[file.Architecture]; other != "" {
			return nil, fmt.Errorf("%s and %s are both for %s: give one binary for each architecture", other, binary, file.Architecture)
		}
		seen[file.Architecture] = binary
		img = mutate.ConfigMediaType(mutate.MediaType(img, types.OCIManifestSchema1), types.OCIConfigJSON)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        untyped{img},
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: file.OS, Architecture: file.Architecture}},
		})
	}
	return index, nil
}

// untyped is an image whose descriptor has no artifactType: that is of things that are no images.
type untyped struct{ v1.Image }

// ArtifactType is asked for by the library, which would take the type of the config otherwise.
func (untyped) ArtifactType() (string, error) { return "", nil }

// archive writes the folder's files, in the order of their names, without what differs from one machine to the next.
func archive(folder, out string) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	l := &layer{out: tar.NewWriter(file), folders: map[string]bool{"/": true}}
	err = filepath.WalkDir(folder, func(source string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, source)
		if err != nil {
			return err
		}
		return l.copyFile(source, "/"+filepath.ToSlash(name), 0o644)
	})
	if err != nil {
		return err
	}
	if err := l.out.Close(); err != nil {
		return err
	}
	return file.Close()
}
