// Command demo shows the operator at work to a person. It starts the local cluster, installs the operator there, runs
// a small distributed training (job.yaml, trainer/), kills one of its workers half-way and shows how the job comes to
// its end all the same. What it shows of the job is the job's status, followed by a watch. Then it trains with the real
// TensorFlow (tensorflow.yaml) and with the real PyTorch, elastic and scaled while it trains (pytorch.yaml).
//
// It ends with exit code 0 only if all jobs have succeeded and the one restart was counted. The cluster stays up.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	namespace    = "default"
	jobName      = "demo"
	trainerImage = "localhost/genericjob/demo-trainer:dev"
	// jobTime ends a job that hangs.
	jobTime = 30 * time.Minute
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	// The client library would otherwise complain, in the middle of the table, that nobody wants its log.
	ctrllog.SetLogger(logr.Discard())

	started := time.Now()
	err := run(ctx)
	took := time.Since(started).Round(time.Second)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		fmt.Fprintf(os.Stderr, "\nInterrupted after %s. The cluster may still run; make cluster-down removes it.\n", took)
	case err != nil:
		fmt.Fprintf(os.Stderr, "\nThe demo failed after %s: %v\n", took, err)
	default:
		fmt.Printf("\nThe demo took %s.\n", took)
		return
	}
	stop()
	os.Exit(1)
}

func run(ctx context.Context) error {
	if err := avoidProxies(); err != nil {
		return err
	}
	c, err := findCluster(ctx)
	if err != nil {
		return err
	}
	hurry, end := c.makeImagesMeanwhile(ctx)
	defer end()
	if err := step("Start the local cluster, and build the operator; the first time builds Kubernetes, which takes minutes",
		func() error { return c.start(ctx) }); err != nil {
		return err
	}
	if err := onCluster(ctx, c, hurry); err != nil {
		c.diagnose(ctx)
		return err
	}
	return c.conclude(ctx)
}

func onCluster(ctx context.Context, c *cluster, hurryImages func()) error {
	if err := step("Make the operator's image and install it; wait until it is available",
		func() error { return c.install(ctx) }); err != nil {
		return err
	}
	if err := step("Delete the jobs of an earlier demo, if there are any",
		func() error { return c.deleteOldJobs(ctx) }); err != nil {
		return err
	}
	if err := step("Build the trainer's image and load it",
		func() error { return c.loadTrainer(ctx) }); err != nil {
		return err
	}
	if err := step("Create the job of e2e/demo/job.yaml",
		func() error { return c.createJob(ctx) }); err != nil {
		return err
	}
	fmt.Printf("==> Watch the job; at step %d one of its workers is made to crash\n", crashStep)
	c.imageProgress.paused.Store(true) // it would tear the table
	err := runJob(ctx, c, newScreen(os.Stdout))
	c.imageProgress.paused.Store(false)
	if err != nil {
		return err
	}
	hurryImages()
	for _, t := range trainings {
		if err := c.train(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func step(what string, do func() error) error {
	fmt.Printf("==> %s\n", what)
	started := time.Now()
	if err := do(); err != nil {
		return fmt.Errorf("%q: %w", what, err)
	}
	fmt.Printf("    done in %s\n", time.Since(started).Round(time.Second))
	return nil
}

func runJob(ctx context.Context, c *cluster, s *screen) error {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	api, err := c.client()
	if err != nil {
		return err
	}
	f := &follower{api: api, lastLines: c.lastLines, crash: c.crash, screen: s}
	job, err := f.follow(ctx)
	if err != nil {
		return err
	}
	if err := verdict(job); err != nil {
		// Only now: the connection may well break when the process at its other end dies as it should.
		return errors.Join(err, f.crashErr)
	}
	return nil
}
