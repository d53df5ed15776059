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
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// training is a part of the demo: a job of a framework kind, with the real framework.
type training struct {
	framework string // names the folder of the image and the file of the job
	resource  string
	name      string
	master    string // its type; rank 0 prints how the training goes
	read      func(ctx context.Context, api client.Client, key client.ObjectKey) (*v1beta1.TrainingJobStatus, error)
	acts      []act
}

// act is something that is done to the job, by kubectl, once the training has come to an epoch. JOB stands for the job, MASTER for
// the pod of its rank 0.
type act struct {
	epoch int
	args  []string
}

var trainings = []training{
	{
		framework: "tensorflow", resource: "tensorflowtrainingjob", name: "mirrored", master: "worker",
		read: func(ctx context.Context, api client.Client, key client.ObjectKey) (*v1beta1.TrainingJobStatus, error) {
			job := &v1beta1.TensorFlowTrainingJob{}
			return &job.Status, api.Get(ctx, key, job)
		},
	},
	{
		framework: "pytorch", resource: "pytorchtrainingjob", name: "elastic", master: "node",
		read: func(ctx context.Context, api client.Client, key client.ObjectKey) (*v1beta1.TrainingJobStatus, error) {
			job := &v1beta1.PyTorchTrainingJob{}
			err := api.Get(ctx, key, job)
			return &job.Status.TrainingJobStatus, err
		},
		acts: []act{
			{3, []string{"scale", "JOB", "--replicas=4"}},
			{12, []string{"delete", "pod", "MASTER", "--grace-period=0", "--force"}},
			{24, []string{"scale", "JOB", "--replicas=2"}},
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

// train makes the framework's image, creates the job and shows it to its end, beside its GenericJob.
func (c *cluster) train(ctx context.Context, t training) error {
	if err := step(fmt.Sprintf("Load the image of %s; the first time it is made of downloads, which began with the demo", t.framework),
		func() error { return c.loadFramework(ctx, t.framework) }); err != nil {
		return err
	}
	file := filepath.Join("e2e", "demo", t.framework+".yaml")
	if err := step("Create the job of "+file, func() error {
		if err := emptyCheckpoints(); err != nil {
			return err
		}
		return c.show(c.kubectlCommand(ctx, "apply", "--filename", filepath.Join(c.root, file)))
	}); err != nil {
		return err
	}
	fmt.Printf("==> Watch the job and the GenericJob that it compiled to\n")
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	if err := c.followTraining(ctx, t); err != nil {
		return err
	}
	return c.show(c.kubectlCommand(ctx, "get", t.resource+",genericjob", "--field-selector", "metadata.name="+t.name))
}

// makeImagesMeanwhile begins to make the frameworks' images: what they take is mostly downloads. Compilers go first, until somebody
// hurries. Who needs an image waits for its maker, and makes what that has not made. The second function ends it, and returns once
// nothing of it runs.
func (c *cluster) makeImagesMeanwhile(ctx context.Context) (hurry, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	arguments := []string{"-n", "10", "go", "run", ".", "rootfs"}
	for _, t := range trainings {
		arguments = append(arguments, c.imageFolder(t.framework))
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

func (c *cluster) loadFramework(ctx context.Context, framework string) error {
	archive, err := output(c.local(ctx, "rootfs", c.imageFolder(framework)))
	if err != nil {
		return fmt.Errorf("make the image of %s: %w", framework, err)
	}
	return c.show(c.local(ctx, "load", archive))
}

// followTraining shows every change of both objects, and what the master prints, until the job has ended.
func (c *cluster) followTraining(ctx context.Context, t training) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	api, err := c.client()
	if err != nil {
		return err
	}
	lines := make(chan string)
	f := &trainingFollower{cluster: c, training: t, api: api, lines: lines, started: time.Now()}
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case line := <-lines:
			err = f.told(ctx, line)
		case <-tick.C:
			err = f.look(ctx)
		case <-ctx.Done():
			err = errors.Join(ctx.Err(), fmt.Errorf("%s %s has not finished: %s", t.resource, t.name, f.shown))
		}
		if err != nil || f.phase == v1beta1.JobSucceeded {
			return err
		}
	}
}

// trainingFollower is what is known of a training while it is shown.
type trainingFollower struct {
	*cluster
	training
	api     client.Client
	lines   chan string
	started time.Time
	shown   string
	said    string
	pod     string // of the master, whose log is shown
	phase   v1beta1.JobPhase
}

func (f *trainingFollower) say(what, text string) {
	fmt.Printf("%4.0fs  %-9s %s\n", time.Since(f.started).Seconds(), what, text)
}

// look reads both objects and shows them if they have changed.
func (f *trainingFollower) look(ctx context.Context) error {
	key := client.ObjectKey{Namespace: namespace, Name: f.name}
	status, err := f.read(ctx, f.api, key)
	if err != nil {
		return fmt.Errorf("read %s %s: %w", f.resource, f.name, err)
	}
	job := &v1beta1.GenericJob{}
	if err := f.api.Get(ctx, key, job); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read GenericJob %s: %w", f.name, err)
	}
	f.phase = status.Phase
	if shown := fmt.Sprintf("%s %-9s %-4s | genericjob %-9s %-4s restarts %d", f.resource, status.Phase, status.Running,
		job.Status.Phase, job.Status.Running, job.Status.BackoffCount); shown != f.shown {
		f.shown = shown
		f.say("job", shown)
	}
	if status.Phase == v1beta1.JobFailed {
		return fmt.Errorf("%s %s has failed: %s", f.resource, f.name, messageOf(status.Conditions))
	}
	if pod, runs := runningPod(job, f.master, 0); runs && f.pod == "" {
		f.pod = pod
		go f.lastLines(ctx, pod, f.lines)
	}
	return nil
}

// told shows a line of the master's log, and does to the job what it is time for.
func (f *trainingFollower) told(ctx context.Context, line string) error {
	// torchrun puts the process in front of each line. Begun anew, the log repeats its last line.
	if _, rest, found := strings.Cut(line, "]:"); found {
		line = rest
	}
	var epoch int
	_, err := fmt.Sscanf(line, "epoch=%d", &epoch)
	interesting := err == nil || strings.HasPrefix(line, "world=") || strings.HasPrefix(line, "cluster ") || strings.HasPrefix(line, "done ")
	if !interesting || line == f.said {
		return nil
	}
	f.said = line
	f.say("training", line)
	if len(f.acts) == 0 || epoch < f.acts[0].epoch {
		return nil
	}
	args := f.command(f.acts[0])
	f.acts = f.acts[1:]
	f.say("demo", "kubectl "+strings.Join(args, " "))
	if text, err := f.kubectlCommand(ctx, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, text)
	}
	return nil
}

// command is what kubectl is told in an act.
func (f *trainingFollower) command(a act) []string {
	args := slices.Clone(a.args)
	for i, arg := range args {
		switch arg {
		case "JOB":
			args[i] = f.resource + "/" + f.name
		case "MASTER":
			args[i] = f.pod
		}
	}
	return args
}
