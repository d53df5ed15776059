package artifact

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/cache"
)

// Builder builds sets from the checkout into the cache.
type Builder struct {
	// Source is the folder that holds binaries/ and pause/.
	Source string
	// Bin is the cache's folder of programs.
	Bin string
	// Progress receives one line per event.
	Progress io.Writer
}

// Programs maps a program's name to its path.
type Programs map[string]string

// Build makes what is missing of the sets and returns the paths of all their programs.
func (b Builder) Build(ctx context.Context, sets []Set) (Programs, error) {
	programs := Programs{}
	for _, set := range sets {
		folder, err := b.ensure(ctx, set)
		if err != nil {
			return nil, err
		}
		for _, program := range set.Program {
			programs[program] = filepath.Join(folder, program)
		}
	}
	return programs, nil
}

// Find is Build for the one set that holds the program.
func (b Builder) Find(ctx context.Context, program string) (string, error) {
	for _, set := range append(All(), Extras()...) {
		for _, candidate := range set.Program {
			if candidate == program {
				programs, err := b.Build(ctx, []Set{set})
				return programs[program], err
			}
		}
	}
	return "", fmt.Errorf("there is no program %q: ask for one of those that `build` lists, or for volcano-scheduler, coscheduling-scheduler, kueue, jobset, in-place-restart-agent, helm, prometheus, promtool or etcd-v2", program)
}

func (b Builder) ensure(ctx context.Context, set Set) (string, error) {
	toolchain, err := set.toolchain(ctx, b.Source)
	if err != nil {
		return "", err
	}
	key, err := set.key(b.Source, toolchain)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(b.Bin, set.Name+"-"+key)
	err = cache.Once(ctx, folder, b.Progress, func(temporary string) error {
		return b.compile(ctx, set, temporary)
	})
	return folder, err
}

func (b Builder) compile(ctx context.Context, set Set, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder for %s: %w", set.Name, err)
	}
	output := folder + string(filepath.Separator)
	if len(set.Program) == 1 {
		output = filepath.Join(folder, set.Program[0])
	}
	command := exec.CommandContext(ctx, "go", set.arguments(output)...)
	command.Dir = filepath.Join(b.Source, set.Module)
	command.Env = set.environment()
	command.Stdout, command.Stderr = b.Progress, b.Progress
	what := "building " + strings.Join(set.Program, ", ")
	if err := cache.Step(b.Progress, what, set.Expect, command.Run); err != nil {
		return fmt.Errorf("build %s in %s (the lines above say why; the Go module proxy must be reachable): %w", set.Name, command.Dir, err)
	}
	return nil
}

// AssetsFolder is one folder with links to the programs, as envtest wants all
// of them in one place. Its name follows from theirs.
func (b Builder) AssetsFolder(programs Programs) (string, error) {
	name := "assets"
	wanted := []string{"etcd", "kube-apiserver", "kubectl"}
	for _, program := range wanted[:2] {
		parent := filepath.Base(filepath.Dir(programs[program]))
		name += "-" + parent[len(parent)-12:]
	}
	folder := filepath.Join(b.Bin, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the assets: %w", err)
	}
	for _, program := range wanted {
		link := filepath.Join(folder, program)
		if err := os.Symlink(programs[program], link); err != nil && !os.IsExist(err) {
			return "", fmt.Errorf("link %s into the assets: %w", program, err)
		}
	}
	return folder, nil
}
