// Command trainer is the training program of the demo: a small, real, distributed one. It fits a linear model by
// synchronous data-parallel gradient descent. The master holds the weights and listens on the job's Service. Each
// worker makes its own shard of the data from its rank, and sends a gradient for every step.
//
// A step uses exactly one gradient of each worker, added up in the order of the ranks. So a worker that dies costs
// time and nothing else. Its successor makes the same shard, asks for the current weights and goes on. The model
// ends up bit for bit as without the accident.
//
// The environment, filled by the GenericJob's variables, is the whole configuration; see config.go. "trainer crash"
// makes process 1 of the container exit with code 1, as a bug in user code would.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitError = 1
	exitUsage = 2
	// A shell reports a program that a signal ended as 128 plus the signal's number. Process 1 of a container cannot
	// die of a signal that it does not handle, so it says so by itself.
	exitSignalBase = 128
)

func main() {
	logger := log.New(os.Stdout, "", 0)
	if len(os.Args) > 1 {
		os.Exit(command(os.Args[1], logger))
	}
	config, err := configFromEnv(os.Getenv)
	if err != nil {
		logger.Print(err)
		os.Exit(exitUsage)
	}
	go exitOnSignal(logger)
	if err := run(context.Background(), config, logger); err != nil {
		logger.Print(err)
		os.Exit(exitError)
	}
}

func run(ctx context.Context, c config, logger *log.Logger) error {
	if c.role == roleWorker {
		return newWorker(c, logger).run(ctx)
	}
	// Every address, not the host name's: the master must be able to listen before its name is published.
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("", c.port))
	if err != nil {
		return fmt.Errorf("listen on port %s: %w", c.port, err)
	}
	logger.Printf("master listens as %s for %d workers", c.master, c.workers)
	return newMaster(c.workers, logger).run(ctx, listener, farewell)
}

// farewell is how long the master outlives its workers. The master's exit ends the job, and the clean-up then deletes
// every pod that has not been seen to finish.
const farewell = 3 * time.Second

// exitOnSignal does not wait for a tidy end: the workers keep nothing, and a master that is stopped has lost its
// weights whatever it does.
func exitOnSignal(logger *log.Logger) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1)
	switch received := <-signals; received {
	case syscall.SIGUSR1:
		logger.Print("crashes, as it was told to")
		os.Exit(exitError)
	case syscall.SIGINT:
		os.Exit(exitSignalBase + int(syscall.SIGINT))
	default:
		os.Exit(exitSignalBase + int(syscall.SIGTERM))
	}
}

func command(name string, logger *log.Logger) int {
	if name != "crash" {
		logger.Printf("unknown command %q; the only one is crash", name)
		return exitUsage
	}
	// SIGKILL would be the obvious choice, but the kernel drops it when process 1 is its target from inside.
	if err := syscall.Kill(1, syscall.SIGUSR1); err != nil {
		logger.Printf("crash process 1: %v", err)
		return exitError
	}
	return 0
}
