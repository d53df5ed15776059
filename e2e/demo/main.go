// Command demo shows the operator at work to a person. It starts the local cluster, installs the operator there, and runs a small
// distributed training (job.yaml, trainer/). It kills one of the workers half-way, and shows how the job comes to its end all the same.
// Then it trains with the real TensorFlow (tensorflow.yaml) and with the real PyTorch, elastic and scaled while it trains (pytorch.yaml).
// It shows each job by `kubectl gj tree`.
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
)

const (
	namespace     = "default"
	trainerImage  = "localhost/genericjob/demo-trainer:dev"
	trainerBinary = "/trainer"
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
	for _, t := range trainings {
		if err := c.train(ctx, t); err != nil {
			return err
		}
		hurryImages()
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
