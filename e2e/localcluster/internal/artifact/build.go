package artifact

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
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
	for _, set := range All() {
		for _, candidate := range set.Program {
			if candidate == program {
				programs, err := b.Build(ctx, []Set{set})
				return programs[program], err
			}
		}
	}
	return "", fmt.Errorf("there is no program %q: ask for one of those that `build` lists", program)
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
	if exists(folder) {
		return folder, nil
	}
	unlock, err := process.Lock(ctx, folder+".lock", b.Progress, "another build of "+set.Name)
	if err != nil {
		return "", err
	}
	defer unlock()
	// The other builder may have made it while this one waited.
	if exists(folder) {
		return folder, nil
	}
	return folder, b.compile(ctx, set, folder)
}

func (b Builder) compile(ctx context.Context, set Set, folder string) error {
	// A fixed name, so that the lock's next owner clears what a killed build left.
	temporary := folder + ".building"
	if err := os.RemoveAll(temporary); err != nil {
		return fmt.Errorf("clear %s: %w", temporary, err)
	}
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return fmt.Errorf("make the folder for %s: %w", set.Name, err)
	}
	output := temporary + string(filepath.Separator)
	if len(set.Program) == 1 {
		output = filepath.Join(temporary, set.Program[0])
	}
	command := exec.CommandContext(ctx, "go", set.arguments(output)...)
	command.Dir = filepath.Join(b.Source, set.Module)
	command.Env = set.environment()
	command.Stdout, command.Stderr = b.Progress, b.Progress
	if err := b.watch(command, set); err != nil {
		return fmt.Errorf("build %s in %s (the lines above say why; the Go module proxy must be reachable): %w", set.Name, command.Dir, err)
	}
	if err := os.Rename(temporary, folder); err != nil {
		return fmt.Errorf("put %s in place: %w", set.Name, err)
	}
	return nil
}

// watch runs the build and tells every 20 s that it still goes on.
func (b Builder) watch(command *exec.Cmd, set Set) error {
	start := time.Now()
	fmt.Fprintf(b.Progress, "building %s: %v (about %v on 2 cores)\n", set.Name, set.Program, set.Expect)
	if err := command.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	tick := time.NewTicker(20 * time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			if err == nil {
				fmt.Fprintf(b.Progress, "built %s in %v\n", set.Name, time.Since(start).Round(time.Second))
			}
			return err
		case <-tick.C:
			fmt.Fprintf(b.Progress, "still building %s: %v of about %v\n", set.Name, time.Since(start).Round(time.Second), set.Expect)
		}
	}
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
		if exists(link) {
			continue
		}
		if err := os.Symlink(programs[program], link); err != nil && !os.IsExist(err) {
			return "", fmt.Errorf("link %s into the assets: %w", program, err)
		}
	}
	return folder, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
