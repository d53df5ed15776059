package artifact

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

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

// atOnce is how many compilations run at the same time: one compiles while the other links, which takes one core.
const atOnce = 2

// Build makes what is missing of the sets and returns the paths of all their programs. Where several have the same program, the
// last one's counts.
func (b Builder) Build(ctx context.Context, sets []Set) (Programs, error) {
	programs, folders := Programs{}, map[string]string{}
	for _, set := range sets {
		folder, err := b.folder(ctx, set)
		if err != nil {
			return nil, err
		}
		folders[set.Name] = folder
		for _, program := range set.Program {
			programs[program] = filepath.Join(folder, program)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var builds sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, together := range compilations(sets) {
		builds.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			// The first failure ends the other builds, whose own words would hide it.
			if err := b.ensure(ctx, together, folders, nil); err != nil {
				cancel(err)
			}
		})
	}
	builds.Wait()
	return programs, context.Cause(ctx)
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
	return "", fmt.Errorf("there is no program %q: ask for one of those that `build` lists, or for volcano-scheduler, coscheduling-scheduler, kueue, jobset, in-place-restart-agent, workflow-controller, argoexec, helm, prometheus, promtool, kube-state-metrics or etcd-v2", program)
}

// folder is where the set's programs are, or will be.
func (b Builder) folder(ctx context.Context, set Set) (string, error) {
	toolchain, err := set.toolchain(ctx, b.Source)
	if err != nil {
		return "", err
	}
	key, err := set.key(b.Source, toolchain)
	return filepath.Join(b.Bin, set.Name+"-"+key), err
}

// target is a set to be built into a temporary folder.
type target struct {
	set    Set
	folder string
}

// ensure compiles those sets of a compilation together whose folder is missing. It holds their locks, in the order of the sets.
func (b Builder) ensure(ctx context.Context, sets []Set, folders map[string]string, missing []target) error {
	if len(sets) == 0 {
		if len(missing) == 0 {
			return nil
		}
		return b.compile(ctx, missing)
	}
	set, rest := sets[0], sets[1:]
	present := true
	err := cache.Once(ctx, folders[set.Name], b.Progress, func(temporary string) error {
		present = false
		return b.ensure(ctx, rest, folders, append(missing, target{set, temporary}))
	})
	if err != nil || !present {
		return err
	}
	return b.ensure(ctx, rest, folders, missing)
}

// compile has one go command build all targets, which share most of their packages, and then gives each folder its programs.
func (b Builder) compile(ctx context.Context, targets []target) error {
	together := targets[0].set
	for _, t := range targets[1:] {
		together = together.with(t.set)
	}
	for _, t := range targets {
		if err := os.MkdirAll(t.folder, 0o755); err != nil {
			return fmt.Errorf("make the folder for %s: %w", t.set.Name, err)
		}
	}
	output := targets[0].folder + string(filepath.Separator)
	if len(together.Program) == 1 {
		output += together.Program[0]
	}
	arguments := together.arguments(output)
	if together.Amendment != nil {
		// Not below the results, which are kept.
		folder, err := os.MkdirTemp(b.Bin, ".amended-")
		if err != nil {
			return fmt.Errorf("make a folder to build in: %w", err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		modfile, err := together.amend(ctx, b.Source, folder)
		if err != nil {
			return err
		}
		arguments = slices.Insert(arguments, 1, "-modfile="+modfile)
	}
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = filepath.Join(b.Source, together.Module)
	command.Env = together.environment()
	command.Stdout, command.Stderr = b.Progress, b.Progress
	what := "building " + strings.Join(together.Program, ", ")
	if err := cache.Step(b.Progress, what, together.Expect, command.Run); err != nil {
		return fmt.Errorf("build %s in %s (the lines above say why; the Go module proxy must be reachable): %w", strings.Join(together.Program, ", "), command.Dir, err)
	}
	for _, t := range targets[1:] {
		for _, program := range t.set.Program {
			if err := os.Rename(output+program, filepath.Join(t.folder, program)); err != nil {
				return fmt.Errorf("put %s into its folder: %w", program, err)
			}
		}
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
