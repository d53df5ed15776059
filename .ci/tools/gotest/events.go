package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is a line of `go test -json`: see `go doc test2json`, and `go help buildjson`.
type event struct {
	Action, Package, Test, Output, FailedBuild string
}

// readEvents reads until the end. What is no event is text that somebody printed.
func readEvents(in io.Reader, take func(event)) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		if json.Unmarshal(line, &e) != nil || e.Action == "" {
			e = event{Action: "build-output", Output: string(line)}
		}
		take(e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what go test says: %w", err)
		}
	}
}

// notCompiled stands in the place of a test.
const notCompiled = "(does not compile)"

// packageRun is what a run of a package has said.
type packageRun struct {
	output strings.Builder
	failed []string
	// open are tests that have begun: if the package ends, they have panicked, or hung.
	open    []string
	unbuilt bool
}

func (r *packageRun) take(e event) {
	switch {
	case e.Action == "output":
		r.output.WriteString(e.Output)
	case e.Action == "run":
		r.open = append(r.open, e.Test)
	case e.Test != "" && (e.Action == "pass" || e.Action == "skip" || e.Action == "fail"):
		r.open = slices.DeleteFunc(r.open, func(test string) bool { return test == e.Test })
		if e.Action == "fail" {
			r.failed = append(r.failed, e.Test)
		}
	case e.Action == "fail":
		r.unbuilt = e.FailedBuild != ""
	}
}

// tests are those that failed. A test with a subtest that failed is left out: the subtest says more.
func (r *packageRun) tests() []string {
	all := slices.Clone(r.failed)
	for _, test := range r.open {
		all = append(all, test+" (did not end)")
	}
	leaves := slices.DeleteFunc(slices.Clone(all), func(test string) bool {
		name, _, _ := strings.Cut(test, " ")
		return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	switch {
	case r.unbuilt:
		return []string{notCompiled}
	case len(leaves) == 0:
		return []string{"(outside its tests)"}
	}
	slices.Sort(leaves)
	return leaves
}
