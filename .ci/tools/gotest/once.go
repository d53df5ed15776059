package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
)

// errFailed is told by the summary.
var errFailed = errors.New("tests failed: see the list above")

// onceRun is one run of all tests.
type onceRun struct {
	options
	*progress
	runs     map[string]*packageRun
	failures []string
	assets   func() (string, error)
}

// once runs all tests of the modules, one module after another, and goes on after failures.
func once(ctx context.Context, out io.Writer, o options, modules []module) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	total := 0
	for _, m := range modules {
		total += len(m.packages)
	}
	r := &onceRun{options: o, runs: map[string]*packageRun{}}
	fmt.Fprintf(out, "This runs the tests of %d packages in %d modules, one module after another.\n", total, len(modules))
	r.progress = newProgress(ctx, out, o.every, total)
	r.assets = sync.OnceValues(func() (string, error) { return findAssets(ctx, o.checkout, r.progress) })
	for _, m := range modules {
		if err := r.module(ctx, m); err != nil {
			r.fail(m.folder, "", err.Error())
		}
		if ctx.Err() != nil {
			break
		}
	}
	return r.summary(ctx)
}

func (r *onceRun) fail(module, path, what string) {
	r.failures = append(r.failures, strings.Join([]string{"  " + module, path, what}, "\t"))
}

// module runs the tests of a module. Its error is one that is not of a package.
func (r *onceRun) module(ctx context.Context, m module) error {
	arguments := []string{"test", "-json", "-timeout", r.timeout.String()}
	if m.uncached {
		arguments = append(arguments, "-count=1")
	}
	for _, p := range m.packages {
		arguments = append(arguments, p.ImportPath)
	}
	c := program(ctx, filepath.Join(r.checkout, m.folder), arguments...)
	if m.apiserver {
		assets, err := r.assets()
		if err != nil {
			return err
		}
		c.Env = append(c.Env, assetsVariable+"="+assets)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	known := len(r.failures)
	read := readEvents(stdout, func(e event) { r.take(m, e) })
	err = c.Wait()
	if len(r.failures) > known {
		err = nil // the packages have said it
	}
	return errors.Join(read, err)
}

func (r *onceRun) take(m module, e event) {
	if e.Package == "" {
		if e.Action == "build-output" {
			r.say("%s", e.Output)
		}
		return
	}
	if e.Action == "start" {
		r.runs[e.Package] = &packageRun{}
		r.begin(e.Package)
	}
	of := r.runs[e.Package]
	of.take(e)
	if e.Test != "" || e.Action != "pass" && e.Action != "skip" && e.Action != "fail" {
		return
	}
	delete(r.runs, e.Package)
	before, closing := cutLastLine(of.output.String())
	if e.Action == "fail" {
		r.fail(m.folder, e.Package, strings.Join(of.tests(), ", "))
		r.say("%s", before)
	}
	r.end(e.Package, closing)
}

// cutLastLine cuts the line off with which go test closes a package.
func cutLastLine(text string) (before, last string) {
	text = strings.TrimSuffix(text, "\n")
	at := strings.LastIndex(text, "\n") + 1
	return text[:at], text[at:]
}

func (r *onceRun) summary(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		r.say("\nInterrupted after %d of %d packages, %s.\n", r.done, r.total, r.took())
	case len(r.failures) == 0 && r.done == r.total:
		r.say("\nAll tests passed: %d packages, %s.\n", r.total, r.took())
		return nil
	}
	if len(r.failures) > 0 {
		r.say("\nFAILED (module, package, tests), after %d of %d packages, %s:\n%s\n", r.done, r.total, r.took(), strings.Join(r.failures, "\n"))
	}
	return errFailed
}
