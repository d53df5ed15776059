// Command gotest runs the tests of all modules of this checkout, and says how far it is. It has two modes: once, as `make test`
// does, or many times on a busy machine, as `make flakes` does. It needs the standard library alone, so that it is compiled at once.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	checkout, packages string
	timeout, every     time.Duration
	flakes             bool
	runs               int
	seed               int64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == busyLoop {
		burn(os.Stdin)
		return
	}
	var o options
	flag.StringVar(&o.checkout, "checkout", "../..", "the checkout's folder")
	flag.DurationVar(&o.timeout, "timeout", time.Hour, "after which a package counts as hung")
	flag.DurationVar(&o.every, "every", time.Minute, "how often it says what it is at")
	flag.BoolVar(&o.flakes, "flakes", false, "run each package many times, beside busy loops and in a drawn order")
	flag.IntVar(&o.runs, "runs", 20, "how many times")
	flag.Int64Var(&o.seed, "seed", 0, "of that order; 0 draws one")
	flag.StringVar(&o.packages, "packages", "", "a regular expression: only the packages of which it matches the path")
	flag.Parse()
	ctx, stop := interrupts()
	defer stop()
	if err := run(ctx, os.Stdout, o, modules); err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		stop()
		os.Exit(1)
	}
}

// interrupts ends its context when somebody ends this program, or its parent: a `go run` that is killed tells nobody.
func interrupts() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	go func(parent int) {
		for os.Getppid() == parent {
			time.Sleep(time.Second)
		}
		stop()
	}(os.Getppid())
	return ctx, stop
}

// run runs the tests. Its error says that something failed; what it was has been printed.
func run(ctx context.Context, out io.Writer, o options, modules []module) error {
	var err error
	if o.checkout, err = filepath.Abs(o.checkout); err != nil {
		return err
	}
	wanted, err := regexp.Compile(o.packages)
	if err != nil {
		return fmt.Errorf("-packages: %w", err)
	}
	all, err := list(ctx, o.checkout, modules, wanted)
	if err != nil {
		return err
	}
	if o.flakes {
		return hunt(ctx, out, o, all)
	}
	return once(ctx, out, o, all)
}
