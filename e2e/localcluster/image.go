package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/cluster"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/image"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/rootfs"
)

func makeImage(_ context.Context, _ tool, arguments []string) error {
	spec, binaries, out, err := imageFlags(arguments)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "writing %s to %s\n", spec.Ref, out)
	if len(binaries) == 1 {
		return image.WriteArchive(spec, out)
	}
	digest, err := image.WritePlatforms(spec, binaries, out)
	if err != nil {
		return err
	}
	fmt.Println(digest)
	return nil
}

// makeRootfs prints the archives' paths alone on standard output, for `load`.
func makeRootfs(ctx context.Context, t tool, folders []string) error {
	if len(folders) == 0 {
		return errors.New("rootfs: name at least one folder with a recipe")
	}
	if err := cluster.CheckMachine(); err != nil {
		return err
	}
	for _, folder := range folders {
		recipe, err := rootfs.Read(folder)
		if err != nil {
			return err
		}
		archive, err := t.images.Archive(ctx, recipe)
		if err != nil {
			return fmt.Errorf("make the image %s: %w", recipe.Image, err)
		}
		fmt.Println(archive)
	}
	return nil
}

func imageFlags(arguments []string) (image.Spec, []string, string, error) {
	var spec image.Spec
	var out string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&spec.Ref, "ref", "", "name of the image with its tag, e.g. localhost/manager:dev (required)")
	flags.StringVar(&out, "out", "", "archive to write (required)")
	flags.StringVar(&spec.Entrypoint, "entrypoint", "", "path of the binary inside the image (default: /<name of the first>)")
	flags.StringVar(&spec.User, "user", "65532:65532", "uid:gid that the binary runs as")
	flags.Func("add", "source:target of a further file or folder; may be repeated", func(value string) error {
		source, target, found := strings.Cut(value, ":")
		if !found {
			return errors.New("want source:target")
		}
		spec.Add = append(spec.Add, image.Addition{Source: source, Target: target})
		return nil
	})
	flags.Func("beside", "suffix:target of a further file that lies beside each binary and has its name with the suffix; may be repeated", func(value string) error {
		suffix, target, found := strings.Cut(value, ":")
		if !found {
			return errors.New("want suffix:target")
		}
		spec.Beside = append(spec.Beside, image.Addition{Source: suffix, Target: target})
		return nil
	})
	if err := flags.Parse(arguments); err != nil {
		return spec, nil, out, err
	}
	if flags.NArg() == 0 || spec.Ref == "" || out == "" {
		return spec, nil, out, fmt.Errorf("image: want -ref, -out and a binary, with all flags before the binary, but got %q", arguments)
	}
	spec.Binary = flags.Arg(0)
	if spec.Entrypoint == "" {
		spec.Entrypoint = "/" + filepath.Base(spec.Binary)
	}
	return spec, flags.Args(), out, nil
}
