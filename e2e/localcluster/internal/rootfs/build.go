package rootfs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/cache"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/image"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// Builder makes images into the cache.
type Builder struct {
	// Cache is the cache's folder of images.
	Cache string
	// Progress receives one line per event.
	Progress io.Writer
}

var needs = []system.Need{
	{Program: "debootstrap", Package: "debootstrap"},
	{Program: "unshare", Package: "util-linux"},
	{Program: "setpriv", Package: "util-linux"},
}

// Archive makes what is missing and returns the path of the image's archive.
func (b Builder) Archive(ctx context.Context, recipe Recipe) (string, error) {
	key, err := recipe.imageKey()
	if err != nil {
		return "", err
	}
	archive := filepath.Join(b.Cache, recipe.name()+"-"+key+".tar")
	err = cache.Once(ctx, archive, b.Progress, func(temporary string) error {
		base, err := b.system(ctx, recipe)
		if err != nil {
			return err
		}
		if err := removeOld(filepath.Join(b.Cache, recipe.name()+"-*.tar*"), base, time.Now().Add(-24*time.Hour)); err != nil {
			return err
		}
		return image.WriteArchive(recipe.spec(base), temporary)
	})
	return archive, err
}

// removeOld keeps edits of a recipe from filling the disk. What is younger may
// still be in use by another checkout.
func removeOld(pattern, keep string, before time.Time) error {
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("pattern %s: %w", pattern, err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || path == keep || strings.HasSuffix(path, ".lock") || info.ModTime().After(before) {
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return fmt.Errorf("remove an old image: %w", err)
		}
	}
	return nil
}

// system returns the layer's file.
func (b Builder) system(ctx context.Context, recipe Recipe) (string, error) {
	key, err := recipe.systemKey()
	if err != nil {
		return "", err
	}
	layer := filepath.Join(b.Cache, recipe.name()+"-system-"+key+".tar.zst")
	return layer, cache.Once(ctx, layer, b.Progress, func(temporary string) error {
		if err := system.Ensure(ctx, needs, b.Progress); err != nil {
			return err
		}
		return b.makeSystem(ctx, recipe, temporary)
	})
}

func (b Builder) makeSystem(ctx context.Context, recipe Recipe, layer string) error {
	root := layer + ".root"
	// What a killed maker left. Its mounts went with it.
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("clear %s: %w", root, err)
	}
	defer os.RemoveAll(root) //nolint:errcheck // the next maker clears it, and says so if it cannot
	if err := os.MkdirAll(root, 0o755); err != nil {
		return fmt.Errorf("make the folder of the system: %w", err)
	}
	for _, step := range steps(root, layer, recipe) {
		if err := cache.Step(b.Progress, step.what, step.expect, func() error { return step.do(ctx) }); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

type step struct {
	what   string
	expect time.Duration
	do     func(context.Context) error
}

func steps(root, layer string, recipe Recipe) []step {
	s := building{root: root, recipe: recipe}
	name := recipe.name()
	all := []step{{"installing Debian " + recipe.Suite + " for " + name, 90 * time.Second, s.debootstrap}}
	if recipe.Requirements != "" {
		all = append(all, step{"installing Python packages for " + name, 30 * time.Second, s.pip})
	}
	return append(all,
		step{"trimming and fixing up " + name, 10 * time.Second, s.finish},
		step{"compressing " + name, 10 * time.Second, func(context.Context) error { return compress(root, layer) }})
}

// compress uses zstd's fastest level. It takes 5 s for a gigabyte instead of
// gzip's 20 s, and containerd imports the result faster than an uncompressed
// layer.
func compress(root, layer string) error {
	file, err := os.Create(layer)
	if err != nil {
		return fmt.Errorf("make the layer's file: %w", err)
	}
	defer file.Close()
	out, err := zstd.NewWriter(file, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return fmt.Errorf("start the layer's compression: %w", err)
	}
	if err := image.WriteTree(out, root); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("finish the layer: %w", err)
	}
	return file.Close()
}
