// Branches lists the branches of kernel and controllers that no simulated life takes, and what runs them instead. A branch is a block of the
// compiler's coverage. The list goes to e2e/simulator/BRANCHES.md. It fails if nothing runs a branch of the kernel, and no reason stands in
// reasons.go.
//
//	go run ./e2e/simulator/branches [-seeds 4000] [-apiserver] [-profiles folder]
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	document = "e2e/simulator/BRANCHES.md"
	module   = "github.com/genericjob/genericjob/"
)

func main() {
	seeds := flag.Int("seeds", 4000, "lives that are simulated")
	apiserver := flag.Bool("apiserver", false, "run the tests of controllers that need the apiserver of KUBEBUILDER_ASSETS, too")
	profiles := flag.String("profiles", "", "the folder of the profiles; one that is there, of the same code, is not made again")
	flag.Parse()
	if err := run(*seeds, *apiserver, *profiles); err != nil {
		fmt.Fprintln(os.Stderr, "branches:", err)
		os.Exit(1)
	}
}

func run(seeds int, apiserver bool, dir string) error {
	if dir == "" {
		made, err := os.MkdirTemp("", "branches")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(made) }() // what is left is in the folder of temporary files
		dir = made
	}
	packages := withoutAPIServer
	if apiserver {
		packages = []string{"./controllers/..."}
	}
	lives, err := cover(dir, "lives", "./kernel/...,./controllers/...", "./e2e/simulator", "-run=TestSimulator$", "-seeds="+strconv.Itoa(seeds))
	if err != nil {
		return err
	}
	kernel, err := cover(dir, "kernel", "./kernel/...", "./kernel/...")
	if err != nil {
		return err
	}
	controllers, err := cover(dir, "controllers", "./kernel/...,./controllers/...", packages...)
	if err != nil {
		return err
	}
	text, unexplained := documentOf(seeds, apiserver, count(lives, kernel, controllers))
	return errors.Join(os.WriteFile(document, []byte(text), 0o600), unexplained)
}

// block is a branch: a file of the module, and its place in that.
type block struct{ file, place string }

// profile says of each branch whether it was taken.
type profile map[block]bool

var line = regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(module) + `(\S+):(\S+) \d+ (\d+)$`)

// cover runs tests, unless their profile is in the folder, and reads it.
func cover(dir, name, of string, tests ...string) (profile, error) {
	file := filepath.Join(dir, name+".out")
	if _, err := os.Stat(file); err != nil {
		args := slices.Concat([]string{"test"}, tests, []string{"-count=1", "-timeout=0", "-coverpkg=" + of, "-coverprofile=" + file + ".new"})
		fmt.Println("go", strings.Join(args, " "))
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		if err := os.Rename(file+".new", file); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	p := profile{}
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		if b := (block{m[1], m[2]}); !strings.HasPrefix(b.file, "kernel/kerneltest/") && !strings.HasPrefix(b.file, "kernel/kueue/kueuetest/") {
			p[b] = p[b] || m[3] != "0"
		}
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("%s has no branch", file)
	}
	return p, nil
}

// counts are numbers of branches: all, those that no life takes, of these those that tests run, and the others, by function.
type counts struct {
	all, unlived, kernel, controllers int
	nothing                           map[string]int
}

// count counts the branches of each file. The simulator knows nothing of packages that it does not import.
func count(lives, kernel, controllers profile) map[string]*counts {
	files, all := map[string]*counts{}, maps.Clone(lives)
	for _, tests := range []profile{kernel, controllers} {
		for b := range tests {
			all[b] = lives[b]
		}
	}
	for b, lived := range all {
		c := files[b.file]
		if c == nil {
			c = &counts{nothing: map[string]int{}}
			files[b.file] = c
		}
		c.all++
		switch {
		case lived:
			continue
		case kernel[b]:
			c.kernel++
		case controllers[b]:
			c.controllers++
		default:
			first, _, _ := strings.Cut(b.place, ".")
			c.nothing[functionAt(b.file, first)]++
		}
		c.unlived++
	}
	return files
}

// documentOf is the text of the document, and what it does not explain.
func documentOf(seeds int, apiserver bool, files map[string]*counts) (string, error) {
	var rows, why strings.Builder
	var problems []error
	var sum counts
	known := maps.Clone(reasons)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		c, nothing := files[file], 0
		for _, function := range slices.Sorted(maps.Keys(c.nothing)) {
			n := c.nothing[function]
			nothing += n
			if !strings.HasPrefix(file, "kernel/") {
				continue
			}
			r := known[place{file, function}]
			if r.branches != n {
				problems = append(problems, fmt.Errorf("%s, %s: nothing runs %d branches, and reasons.go explains %d", file, function, n, r.branches))
			}
			fmt.Fprintf(&why, "- `%s`, %s: %s\n", file, function, r.why)
			delete(known, place{file, function})
		}
		sum.all, sum.unlived, sum.kernel, sum.controllers = sum.all+c.all, sum.unlived+c.unlived, sum.kernel+c.kernel, sum.controllers+c.controllers
		if c.unlived > 0 {
			fmt.Fprintf(&rows, "| %s | %d | %d | %d | %d | %d |\n", file, c.all, c.unlived, c.kernel, c.controllers, nothing)
		}
	}
	for p := range known {
		problems = append(problems, fmt.Errorf("%s, %s: reasons.go explains what is run, or is gone", p.file, p.function))
	}
	fmt.Fprintf(&rows, "| together | %d | %d | %d | %d | %d |\n", sum.all, sum.unlived, sum.kernel, sum.controllers, sum.unlived-sum.kernel-sum.controllers)
	for _, folder := range slices.Sorted(maps.Keys(testedBy)) {
		fmt.Fprintf(&why, "- `%s`: %s\n", folder, testedBy[folder])
	}
	slices.SortFunc(problems, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return fmt.Sprintf(page, seeds, map[bool]string{true: "with", false: "without"}[apiserver], rows.String(), why.String()), errors.Join(problems...)
}
