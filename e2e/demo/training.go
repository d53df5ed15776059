package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// training is one job of the demo, and what is done to it while it trains.
type training struct {
	framework string // of its image, which is made of downloads; empty for the demo's own trainer
	file      string // in this folder
	resource  string
	name      string
	master    string // the type whose rank 0 prints how the training goes
	progress  string // how a line of it begins that tells how far the training is, for fmt.Sscanf
	acts      []act
	restarts  int32 // that must have been counted at the end, if not 0
}

// act is something that is done to the job, by kubectl, once the training has come so far. JOB stands for the job, and
// POD/<type>-<rank> for the pod of a replica.
type act struct {
	at   int
	args []string
	// breaks says that kubectl may lose its connection: the process at its other end dies, as it should.
	breaks bool
}

var trainings = []training{
	{
		file: "job.yaml", resource: "genericjob", name: "demo", master: "master", progress: "step %d loss", restarts: 1,
		// The program exits with an error by itself. A deleted pod would be a disruption, which no limit counts.
		acts: []act{{at: 60, args: []string{"exec", "POD/worker-1", "--", trainerBinary, "crash"}, breaks: true}},
	},
	{
		framework: "tensorflow", file: "tensorflow.yaml", resource: "tensorflowtrainingjob", name: "mirrored", master: "worker", progress: "epoch=%d",
	},
	{
		framework: "pytorch", file: "pytorch.yaml", resource: "pytorchtrainingjob", name: "elastic", master: "node", progress: "epoch=%d",
		acts: []act{
			{at: 3, args: []string{"scale", "JOB", "--replicas=4"}},
			{at: 12, args: []string{"delete", "POD/node-0", "--grace-period=0", "--force"}},
			{at: 24, args: []string{"scale", "JOB", "--replicas=2"}},
		},
	},
}

// checkpoints is the folder of this machine that the replicas share: rank 0 changes hands when a job is scaled.
const checkpoints = "/var/tmp/genericjob-demo"

func emptyCheckpoints() error {
	if err := os.RemoveAll(checkpoints); err != nil {
		return err
	}
	if err := os.Mkdir(checkpoints, 0o700); err != nil {
		return err
	}
	return os.Chmod(checkpoints, 0o777) // the pods run as somebody else, and a umask may be in the way of Mkdir's mode
}

// train makes the job's image, creates the job and shows it to its end. It returns an error unless the job has succeeded, with the
// restarts that it must have.
func (c *cluster) train(ctx context.Context, t training) error {
	if err := step(t.imageStep(), func() error { return c.loadImage(ctx, t) }); err != nil {
		return err
	}
	file := filepath.Join("e2e", "demo", t.file)
	if err := step("Create the job of "+file, func() error {
		if err := emptyCheckpoints(); err != nil {
			return err
		}
		return c.show(c.kubectlCommand(ctx, "apply", "--filename", filepath.Join(c.root, file)))
	}); err != nil {
		return err
	}
	fmt.Printf("==> Watch the job: kubectl gj tree %s --watch\n", t.job())
	c.imageProgress.paused.Store(true) // it would come between
	broken, err := c.follow(ctx, t)
	c.imageProgress.paused.Store(false)
	if err != nil {
		return err
	}
	if err := c.compare(ctx, t); err != nil {
		return errors.Join(err, broken)
	}
	return nil
}

func (t training) job() string { return t.resource + "/" + t.name }

func (t training) imageStep() string {
	if t.framework == "" {
		return "Build the trainer's image and load it"
	}
	return fmt.Sprintf("Load the image of %s; the first time it is made of downloads, which began with the demo", t.framework)
}

func (c *cluster) loadImage(ctx context.Context, t training) error {
	if t.framework == "" {
		return c.loadTrainer(ctx)
	}
	archive, err := output(c.local(ctx, "rootfs", c.imageFolder(t.framework)))
	if err != nil {
		return fmt.Errorf("make the image of %s: %w", t.framework, err)
	}
	return c.show(c.local(ctx, "load", archive))
}

// makeImagesMeanwhile begins to make the frameworks' images: what they take is mostly downloads. Compilers go first, until somebody
// hurries. Who needs an image waits for its maker, and makes what that has not made. The second function ends it, and returns once
// nothing of it runs.
func (c *cluster) makeImagesMeanwhile(ctx context.Context) (hurry, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	arguments := []string{"-n", "10", "go", "run", ".", "rootfs"}
	for _, t := range trainings {
		if t.framework != "" {
			arguments = append(arguments, c.imageFolder(t.framework))
		}
	}
	maker := inGroup(exec.CommandContext(ctx, "nice", arguments...))
	maker.Dir = filepath.Join(c.root, "e2e", "localcluster")
	maker.Stderr = &c.imageProgress
	if maker.Start() != nil {
		return func() {}, cancel
	}
	ended := make(chan struct{})
	go func() {
		_ = maker.Wait()
		close(ended)
	}()
	hurry = func() { _ = syscall.Setpriority(syscall.PRIO_PGRP, maker.Process.Pid, 0) }
	end = func() {
		cancel()
		<-ended
	}
	return hurry, end
}

func (c *cluster) imageFolder(framework string) string {
	return filepath.Join(c.root, "e2e", "images", framework)
}

// arguments returns what kubectl is told in an act.
func (c *cluster) arguments(ctx context.Context, t training, a act) ([]string, error) {
	args := slices.Clone(a.args)
	for i, arg := range args {
		if arg == "JOB" {
			args[i] = t.job()
		}
		replica, is := strings.CutPrefix(arg, "POD/")
		if !is {
			continue
		}
		taskType, rank, _ := strings.Cut(replica, "-")
		pod, err := output(c.kubectlCommand(ctx, "get", "pods", "--selector", t.selector(taskType, rank), "--output", "name"))
		if err != nil || pod == "" {
			return nil, fmt.Errorf("find the pod of %s of %s: %w", replica, t.job(), err)
		}
		args[i] = pod
	}
	return args, nil
}
