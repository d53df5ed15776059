package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// cluster is the local cluster, never another one: a KUBECONFIG of the user's is not looked at.
type cluster struct {
	root       string // of the checkout
	kubeconfig string
	kubectl    string
	// imageProgress is what is said of images that are made meanwhile.
	imageProgress pausable
}

// pausable writes to standard error, unless it is paused: then what is written is lost.
type pausable struct{ paused atomic.Bool }

func (p *pausable) Write(text []byte) (int, error) {
	if p.paused.Load() {
		return len(text), nil
	}
	return os.Stderr.Write(text)
}

func findCluster(ctx context.Context) (*cluster, error) {
	module, err := output(exec.CommandContext(ctx, "go", "env", "GOMOD"))
	if err != nil {
		return nil, fmt.Errorf("find the checkout: %w", err)
	}
	return &cluster{root: filepath.Dir(module)}, nil
}

// start also builds the operator and kubectl gj: two compilers keep both cores busy.
func (c *cluster) start(ctx context.Context) error {
	operator := make(chan error, 1)
	go func() { operator <- c.show(exec.CommandContext(ctx, "make", "--silent", "manager", "kubectl-gj")) }()
	err := c.show(c.local(ctx, "up"))
	if err := errors.Join(err, <-operator); err != nil {
		return err
	}
	if c.kubeconfig, err = output(c.local(ctx, "kubeconfig")); err != nil {
		return fmt.Errorf("ask for the cluster's kubeconfig: %w", err)
	}
	if c.kubectl, err = output(c.local(ctx, "path", "kubectl")); err != nil {
		return fmt.Errorf("ask for the cluster's kubectl: %w", err)
	}
	return nil
}

// install leaves the work to what the other users of the local cluster call too; true is the command to run after it.
func (c *cluster) install(ctx context.Context) error {
	return c.show(exec.CommandContext(ctx, filepath.Join(c.root, "e2e", "on-local-cluster"), "true"))
}

func (c *cluster) loadTrainer(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "genericjob-demo-")
	if err != nil {
		return fmt.Errorf("make a folder to build in: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary, archive := filepath.Join(folder, "trainer"), filepath.Join(folder, "trainer.tar")

	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./e2e/demo/trainer")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return c.show(
		build,
		c.local(ctx, "image", "-ref", trainerImage, "-out", archive,
			"-entrypoint", trainerBinary, "-user", "65532:65532", binary),
		c.local(ctx, "load", archive),
	)
}

// deleteOldJobs deletes all jobs of an earlier demo: one that was interrupted may still train, beside those of this one. It
// does so in the foreground, because the new jobs' Services have the old ones' names.
func (c *cluster) deleteOldJobs(ctx context.Context) error {
	var jobs []string
	for _, t := range trainings {
		jobs = append(jobs, t.job())
	}
	return c.show(c.kubectlCommand(ctx, append([]string{"delete", "--ignore-not-found", "--cascade=foreground", "--timeout=5m"}, jobs...)...))
}

func (c *cluster) local(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	command.Dir = filepath.Join(c.root, "e2e", "localcluster")
	return command
}

func (c *cluster) kubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.kubectl,
		append([]string{"--kubeconfig", c.kubeconfig, "--namespace", namespace}, args...)...)
}

// gj is the kubectl plugin, which start has built.
func (c *cluster) gj() string { return filepath.Join(c.root, "dist", "kubectl-gj") }

func (c *cluster) gjCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, c.gj(), append(args, "--kubeconfig", c.kubeconfig, "--namespace", namespace)...)
}

// show runs commands up to the first that fails. They share the demo's own output, so that nobody waits for a daemon
// that a command leaves behind.
func (c *cluster) show(commands ...*exec.Cmd) error {
	for _, command := range commands {
		if command.Dir == "" {
			command.Dir = c.root
		}
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		inGroup(command)
		if err := command.Run(); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command.Args, " "), err)
		}
	}
	return nil
}

func output(command *exec.Cmd) (string, error) {
	command.Stderr = os.Stderr
	text, err := command.Output()
	return strings.TrimSpace(string(text)), err
}

func pause(ctx context.Context) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
}

// section prints the output of a command below a heading; what fails there is not worth hiding the rest for.
func section(heading string, command *exec.Cmd) {
	text, err := command.CombinedOutput()
	fmt.Printf("\n--- %s\n%s", heading, text)
	if err != nil {
		fmt.Printf("(%v)\n", err)
	}
}
