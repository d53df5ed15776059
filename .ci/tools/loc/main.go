// Command loc counts lines of code, without blank lines and comments, so that two commits can be compared.
//
// Usage: loc [-rev COMMIT] [-against COMMIT]
//
// It counts the working tree, or a commit; with -against also another commit, and the difference.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kinds are what is counted apart, in the order in which it is told.
var kinds = []string{"Go", "Go of tests", "Go, generated", "Python", "YAML and JSON"}

// count is of one kind.
type count struct{ files, lines int }

func main() {
	rev := flag.String("rev", "", "count this commit, not the working tree")
	against := flag.String("against", "", "count this commit too, and tell the difference")
	flag.Parse()
	if err := run(os.Stdout, *rev, *against); err != nil {
		fmt.Fprintln(os.Stderr, "loc:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, rev, against string) error {
	root, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	folder := strings.TrimSpace(string(root))
	is, err := counts(folder, rev)
	if err != nil {
		return err
	}
	before := map[string]count{}
	if against != "" {
		if before, err = counts(folder, against); err != nil {
			return err
		}
	}
	for _, kind := range kinds {
		line := fmt.Sprintf("%-14s %5d files %7d lines", kind, is[kind].files, is[kind].lines)
		if against != "" {
			line += fmt.Sprintf("   before %5d files %7d lines   %+d", before[kind].files, before[kind].lines, is[kind].lines-before[kind].lines)
		}
		fmt.Fprintln(out, line)
	}
	return nil
}

// counts returns what a commit has of each kind, or the working tree if that is "".
func counts(folder, rev string) (map[string]count, error) {
	sums := map[string]count{}
	see := func(name string, text []byte) {
		kind, lines := countOf(name, text)
		if kind != "" {
			c := sums[kind]
			sums[kind] = count{c.files + 1, c.lines + lines}
		}
	}
	if rev == "" {
		return sums, eachTracked(folder, see)
	}
	return sums, eachOf(folder, rev, see)
}

// eachTracked hands over the files of the working tree that git knows.
func eachTracked(folder string, see func(string, []byte)) error {
	list := exec.Command("git", "ls-files", "-z")
	list.Dir = folder
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the files of the checkout: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(names), "\x00"), "\x00") {
		if info, err := os.Lstat(filepath.Join(folder, name)); err != nil || !info.Mode().IsRegular() {
			continue // deleted and not committed yet, or a link
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		see(name, text)
	}
	return nil
}

// eachOf hands over the files of a commit.
func eachOf(folder, rev string, see func(string, []byte)) error {
	archive := exec.Command("git", "archive", "--format=tar", rev)
	archive.Dir = folder
	raw, err := archive.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
		}
		return fmt.Errorf("read commit %s: %w", rev, err)
	}
	for files := tar.NewReader(bytes.NewReader(raw)); ; {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if file.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		see(file.Name, text)
	}
}

// countOf returns the kind of a file, "" for one that is not counted, and its lines of code.
func countOf(name string, text []byte) (kind string, lines int) {
	switch path.Ext(name) {
	case ".go":
		return goKind(name, text), goLines(text)
	case ".py":
		return "Python", textLines(text, "#")
	case ".yaml", ".yml":
		return "YAML and JSON", textLines(text, "#")
	case ".json", ".ipynb":
		return "YAML and JSON", textLines(text, "")
	}
	return "", 0
}

// forTests are folders whose Go serves tests alone, also where they stood in earlier commits.
var forTests = []string{"e2e/", "controllers/simulator/", "kernel/kerneltest/", "kernel/kueue/kueuetest/", "translators/translatortest/"}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

func goKind(name string, text []byte) string {
	switch {
	case generated.Match(text):
		return "Go, generated"
	case strings.HasSuffix(name, "_test.go"), slices.ContainsFunc(forTests, func(folder string) bool { return strings.HasPrefix(name, folder) }):
		return "Go of tests"
	default:
		return "Go"
	}
}
