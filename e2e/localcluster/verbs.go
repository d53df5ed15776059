package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/cluster"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

var verbs = map[string]func(context.Context, tool, []string) error{
	"assets":     assets,
	"check":      check,
	"build":      build,
	"up":         up,
	"status":     status,
	"load":       load,
	"image":      makeImage,
	"rootfs":     makeRootfs,
	"kubectl":    kubectl,
	"path":       path,
	"kubeconfig": kubeconfig,
	"node":       node,
	"down":       down,
}

var takesArguments = map[string]bool{"assets": true, "build": true, "up": true, "load": true, "image": true, "rootfs": true, "kubectl": true, "path": true, "node": true}

// parse reads the flags of a verb that takes no further arguments. Done says that they asked for help alone.
func parse(flags *flag.FlagSet, arguments []string) (done bool, err error) {
	if err := flags.Parse(arguments); errors.Is(err, flag.ErrHelp) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	if flags.NArg() > 0 {
		return false, fmt.Errorf("%s: there is no argument %q: want nothing, or flags (%s -h lists them)", flags.Name(), flags.Args(), flags.Name())
	}
	return false, nil
}

// versionFlag adds -version.
func versionFlag(flags *flag.FlagSet) *artifact.Version {
	version := artifact.Newest
	flags.Func("version", fmt.Sprintf("minor version of Kubernetes: one of %v (default %s)", artifact.Versions(), artifact.Newest),
		func(text string) (err error) {
			version, err = artifact.ParseVersion(text)
			return err
		})
	return &version
}

func assets(ctx context.Context, t tool, arguments []string) error {
	flags := flag.NewFlagSet("assets", flag.ContinueOnError)
	version := versionFlag(flags)
	if done, err := parse(flags, arguments); done || err != nil {
		return err
	}
	programs, err := t.builder.Build(ctx, version.Assets())
	if err != nil {
		return err
	}
	folder, err := t.builder.AssetsFolder(programs)
	if err != nil {
		return err
	}
	fmt.Println(folder)
	return nil
}

// check is what can be known before anything is compiled for a cluster of the newest version.
func check(ctx context.Context, t tool, _ []string) error {
	t.layout.Version = artifact.Newest
	return cluster.Check(ctx, t.layout, os.Stderr)
}

func build(ctx context.Context, t tool, arguments []string) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	version := versionFlag(flags)
	if done, err := parse(flags, arguments); done || err != nil {
		return err
	}
	_, err := everything(ctx, t, *version)
	return err
}

func everything(ctx context.Context, t tool, version artifact.Version) (cluster.Layout, error) {
	if err := cluster.CheckMachine(); err != nil {
		return cluster.Layout{}, err
	}
	if err := cluster.EnsurePackages(ctx, os.Stderr); err != nil {
		return cluster.Layout{}, err
	}
	sets, err := version.Cluster()
	if err != nil {
		return cluster.Layout{}, err
	}
	programs, err := t.builder.Build(ctx, sets)
	t.layout.Programs, t.layout.Version = programs, version
	return t.layout, err
}

// present is everything, of the version of the cluster that is there.
func present(ctx context.Context, t tool) (cluster.Layout, error) {
	version, err := t.layout.VersionOfState()
	if err != nil {
		return cluster.Layout{}, err
	}
	return everything(ctx, t, version)
}

func up(ctx context.Context, t tool, arguments []string) error {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	gang := flags.Bool("gang", false, "switch on Kubernetes' own gang scheduling, which is off by default in this version")
	version := versionFlag(flags)
	if done, err := parse(flags, arguments); done || err != nil {
		return err
	}
	t.layout.Version = *version
	if err := cluster.Check(ctx, t.layout, os.Stderr); err != nil {
		return err
	}
	layout, err := everything(ctx, t, *version)
	if err != nil {
		return err
	}
	layout.Gang = *gang
	start := time.Now()
	if err := cluster.Up(ctx, layout, os.Stderr); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "the cluster is ready after %v\n\n", time.Since(start).Round(100*time.Millisecond))
	fmt.Printf("export KUBECONFIG=%s\n", system.Quote(layout.Kubeconfig()))
	fmt.Fprintf(os.Stderr, "\nkubectl is %s\n", system.Quote(layout.Programs["kubectl"]))
	return nil
}

func status(ctx context.Context, t tool, _ []string) error {
	layout, err := present(ctx, t)
	if err != nil {
		return err
	}
	if !cluster.Status(ctx, layout, os.Stdout) {
		return errors.New("the cluster is not complete: `up` starts what is missing")
	}
	return nil
}

func load(ctx context.Context, t tool, archives []string) error {
	if len(archives) == 0 {
		return errors.New("load: name at least one image archive")
	}
	layout, err := present(ctx, t)
	if err != nil {
		return err
	}
	return cluster.Load(ctx, layout, archives, os.Stderr, os.Stdout)
}

func kubectl(ctx context.Context, t tool, arguments []string) error {
	if len(arguments) > 0 && arguments[0] == "--" {
		arguments = arguments[1:]
	}
	program, err := t.builder.Find(ctx, "kubectl")
	if err != nil {
		return err
	}
	environment := append(system.Direct(os.Environ()), "KUBECONFIG="+t.layout.Kubeconfig())
	// Replaces this process, so that kubectl gets the terminal and its signals itself.
	if err := syscall.Exec(program, append([]string{program}, arguments...), environment); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	return nil
}

func path(ctx context.Context, t tool, arguments []string) error {
	if len(arguments) != 1 {
		return errors.New("path: name one program, e.g. kubectl")
	}
	program, err := t.builder.Find(ctx, arguments[0])
	if err != nil {
		return err
	}
	fmt.Println(program)
	return nil
}

func kubeconfig(_ context.Context, t tool, _ []string) error {
	fmt.Println(t.layout.Kubeconfig())
	return nil
}

// down needs no programs of its own: it must work when they cannot be built.
func down(ctx context.Context, t tool, _ []string) error {
	if err := cluster.CheckMachine(); err != nil {
		return err
	}
	return cluster.Down(ctx, t.layout, os.Stderr)
}

// node prints nothing but the kubelet's folder, for `add`.
func node(ctx context.Context, t tool, arguments []string) error {
	const want = "want add NAME, kill NAME kubelet|containerd|everything, start NAME or remove NAME"
	if len(arguments) < 2 || len(arguments) > 2 != (arguments[0] == "kill") || len(arguments) > 3 {
		return fmt.Errorf("node: %s, but got %q", want, arguments)
	}
	layout, err := present(ctx, t)
	if err != nil {
		return err
	}
	name := arguments[1]
	switch arguments[0] {
	case "add":
		return cluster.AddNode(ctx, layout, name, os.Stderr, os.Stdout)
	case "kill":
		return cluster.KillNode(ctx, layout, name, arguments[2], os.Stderr)
	case "start":
		return cluster.StartNode(ctx, layout, name, os.Stderr)
	case "remove":
		return cluster.RemoveNode(ctx, layout, name, os.Stderr)
	default:
		return fmt.Errorf("node: %s, but got %q", want, arguments)
	}
}
