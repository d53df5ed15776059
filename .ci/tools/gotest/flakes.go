package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// flake is how often a test failed, and where the first failure is told.
type flake struct {
	path, test, log string
	times           int
}

// flakesRun runs packages many times.
type flakesRun struct {
	options
	*progress
	logs   string
	mutex  sync.Mutex
	flakes []flake
}

// target is a package whose test binary is there.
type target struct {
	goPackage
	module module
	binary string
	assets string
}

// turn is one run of a target. All that is drawn in it comes from its seed.
type turn struct {
	*target
	round int
	seed  int64
}

// hunt runs every package many times beside as many busy loops as there are cores.
func hunt(ctx context.Context, out io.Writer, o options, modules []module) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	targets := targetsOf(modules)
	if o.runs < 1 || len(targets) == 0 {
		return fmt.Errorf("there is nothing to run: -runs is %d, and %d packages that match %q have tests", o.runs, len(targets), o.packages)
	}
	if o.seed == 0 {
		o.seed = time.Now().Unix()
	}
	cores := runtime.GOMAXPROCS(0)
	fmt.Fprintf(out, "This compiles the tests of %d packages and runs each %d times, %d at once, beside %d busy loops. SEED=%d repeats the order.\n",
		len(targets), o.runs, cores, cores, o.seed)
	r := &flakesRun{
		options: o, progress: newProgress(ctx, out, o.every, len(targets)*(o.runs+1)),
		logs: filepath.Join(o.checkout, "dist", "flakes", fmt.Sprint(o.seed)),
	}
	binaries, err := scratch(ctx, o.checkout)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(binaries) }()
	if targets, err = r.compile(ctx, binaries, targets); err != nil {
		return err
	}
	stopLoops, err := startLoops(cores)
	if err != nil {
		return err
	}
	defer stopLoops()
	r.runAll(ctx, cores, shuffle(targets, o.runs, o.seed))
	return r.summary(ctx)
}

// scratch makes a folder beside Go's build cache: the binaries take gigabytes, and the system's folder for temporary files may
// be memory.
func scratch(ctx context.Context, checkout string) (string, error) {
	cache, err := output(program(ctx, checkout, "env", "GOCACHE"))
	if err != nil {
		return "", fmt.Errorf("find Go's build cache: %w", err)
	}
	beside := filepath.Dir(strings.TrimSpace(cache))
	if err := os.MkdirAll(beside, 0o755); err != nil {
		return "", err
	}
	return os.MkdirTemp(beside, "genericjob-flakes-")
}

func targetsOf(modules []module) (targets []*target) {
	for _, m := range modules {
		for _, p := range m.packages {
			if len(p.TestGoFiles)+len(p.XTestGoFiles) > 0 {
				targets = append(targets, &target{goPackage: p, module: m})
			}
		}
	}
	return targets
}

// compile leaves out the packages that it cannot compile.
func (r *flakesRun) compile(ctx context.Context, binaries string, targets []*target) (compiled []*target, err error) {
	assets := ""
	for i, t := range targets {
		if t.module.apiserver && assets == "" {
			if assets, err = findAssets(ctx, r.checkout, r.progress); err != nil {
				return nil, err
			}
		}
		t.assets, t.binary = assets, filepath.Join(binaries, fmt.Sprint(i)+".test")
		r.begin("compiling " + t.ImportPath)
		// As go test links them: without what debuggers need.
		c := program(ctx, t.Dir, "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", t.binary, ".")
		c.Env = append(c.Env, "GOTMPDIR="+binaries)
		err := c.Run()
		if ctx.Err() != nil {
			return nil, r.summary(ctx)
		}
		result := "compiled"
		if err == nil {
			compiled = append(compiled, t)
		} else {
			result = "FAIL"
			r.record(flake{path: t.ImportPath, test: notCompiled})
		}
		r.end("compiling "+t.ImportPath, result+"\t"+t.ImportPath)
	}
	return compiled, nil
}

// shuffle draws one order of all targets for each round.
func shuffle(targets []*target, rounds int, seed int64) (turns []turn) {
	random := rand.New(rand.NewPCG(uint64(seed), 0)) // #nosec G404 -- an order is no secret, and must be repeatable
	for round := range rounds {
		for _, i := range random.Perm(len(targets)) {
			turns = append(turns, turn{targets[i], round + 1, seed + int64(round)})
		}
	}
	return turns
}

// runAll takes the turns in their order, several at once.
func (r *flakesRun) runAll(ctx context.Context, atOnce int, turns []turn) {
	queue := make(chan turn, len(turns))
	for _, next := range turns {
		queue <- next
	}
	close(queue)
	var workers sync.WaitGroup
	for range atOnce {
		workers.Go(func() {
			for next := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := r.turn(ctx, next); err != nil && ctx.Err() == nil {
					r.say("%s: %v\n", next.ImportPath, err)
					r.record(flake{path: next.ImportPath, test: "(could not be run)"})
				}
			}
		})
	}
	workers.Wait()
}

// turn runs a test binary as go test does. Its error is one of running it, and not of a test.
func (r *flakesRun) turn(ctx context.Context, next turn) error {
	what := fmt.Sprintf("%s, round %d", next.ImportPath, next.round)
	r.begin(what)
	begun := time.Now()
	seed := fmt.Sprintf("-test.shuffle=%d", next.seed)
	c := program(ctx, next.Dir, "tool", "test2json", "-p", next.ImportPath, next.binary,
		"-test.v=test2json", "-test.paniconexit0", "-test.count=1", "-test.timeout="+r.timeout.String(), seed)
	if next.module.apiserver {
		c.Env = append(c.Env, assetsVariable+"="+next.assets)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	said := &packageRun{}
	err = readEvents(stdout, said.take)
	failed := c.Wait() != nil
	if err != nil || ctx.Err() != nil {
		return err
	}
	result := "ok  "
	if failed {
		result = "FAIL"
		if err := r.keep(next, said); err != nil {
			return err
		}
	}
	r.end(what, fmt.Sprintf("%s\t%s\t%.1fs", result, what, time.Since(begun).Seconds()))
	return nil
}

// repeat is the command that repeats a turn, in the checkout's folder.
func (next turn) repeat() string {
	command := fmt.Sprintf("go -C %s test -count=1 -shuffle=%d %s", next.module.folder, next.seed, next.ImportPath)
	if next.module.apiserver {
		// In quotes, for a shell.
		command = assetsVariable + "='" + strings.ReplaceAll(next.assets, "'", `'\''`) + "' " + command
	}
	return command
}

// keep keeps the output of a run that failed, below the command that repeats it, and prints that.
func (r *flakesRun) keep(next turn, said *packageRun) error {
	name := fmt.Sprintf("%d-%s.log", next.round, strings.ReplaceAll(next.ImportPath, "/", "_"))
	log := filepath.Join(r.logs, name)
	err := os.MkdirAll(r.logs, 0o755)
	if err == nil {
		err = os.WriteFile(log, []byte(next.repeat()+"\n"+said.output.String()), 0o644)
	}
	r.say("    %s\n", next.repeat())
	for _, test := range said.tests() {
		r.say("    %s: %s\n", next.ImportPath, test)
		r.record(flake{path: next.ImportPath, test: test, log: log})
	}
	return err
}

// record counts a failure.
func (r *flakesRun) record(f flake) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	at := slices.IndexFunc(r.flakes, func(known flake) bool { return known.path == f.path && known.test == f.test })
	if at < 0 {
		at = len(r.flakes)
		r.flakes = append(r.flakes, f)
	}
	r.flakes[at].times++
}

func (r *flakesRun) summary(ctx context.Context) error {
	if ctx.Err() != nil {
		r.say("\nInterrupted after %d of %d, %s.\n", r.done, r.total, r.took())
	}
	if ctx.Err() == nil && len(r.flakes) == 0 {
		r.say("\nNothing failed in %d runs of each package, %s; SEED=%d.\n", r.runs, r.took(), r.seed)
		return nil
	}
	slices.SortFunc(r.flakes, func(a, b flake) int {
		return cmp.Or(cmp.Compare(b.times, a.times), cmp.Compare(a.path, b.path), cmp.Compare(a.test, b.test))
	})
	for i, f := range r.flakes {
		if i == 0 {
			r.say("\nFAILED (times in %d runs, package, test, log of the first time), SEED=%d, %s:\n", r.runs, r.seed, r.took())
		}
		r.say("  %d\t%s\t%s\t%s\n", f.times, f.path, f.test, f.log)
	}
	return errFailed
}
