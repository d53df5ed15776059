// Mutants breaks the operator on purpose, in one place for each mutant, and sees whether the simulator finds it. No code of the checkout is
// touched: the compiler reads the broken file from elsewhere. With -update the results go to the table of README.md beside it.
//
// With -k it searches among the lives of miniatures that have at most so many deviations, and says how many a mutant needs.
//
//	go run ./e2e/simulator/mutants [-seeds 50000 | -k 2 [-miniatures regexp]] [-run regexp] [-update]
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
)

func main() {
	seeds := flag.Int("seeds", 50000, "lives in which each mutant must be found")
	run := flag.String("run", "", "only the mutants whose name this regular expression matches")
	most := flag.Int("k", -1, "search in miniatures, in the lives with at most so many deviations")
	miniatures := flag.String("miniatures", searchedMiniatures, "with -k 2 or more: the miniatures in which lives with several deviations are searched, a regular expression")
	update := flag.Bool("update", false, "write the results into the table of "+document)
	flag.Parse()
	s, err := inLives(*seeds)
	if *most >= 0 {
		s, err = inMiniatures(*most, *miniatures)
	}
	if err == nil {
		err = runAll(s, *run, *update)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// atOnce is how many mutants are built and looked for at once. Most of a build is one program that waits for another.
const atOnce = 2

// runAll runs the mutants of this name, and prints a row of each.
func runAll(s search, run string, update bool) error {
	chosen, err := regexp.Compile(run)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	fmt.Print(s.head)
	r := results{rows: map[string]string{}}
	var wg sync.WaitGroup
	next := make(chan mutant)
	for range atOnce {
		wg.Go(func() {
			for m := range next {
				found, err := m.run(s)
				r.add(m, s, found, err)
			}
		})
	}
	for _, m := range mutants {
		if chosen.MatchString(m.Name) {
			next <- m
		}
	}
	close(next)
	wg.Wait()
	if update {
		err = s.writeTable(r.rows)
	}
	if r.missed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of the mutants were not found", r.missed))
	}
	return err
}

// results are what has become of mutants so far.
type results struct {
	mu     sync.Mutex
	rows   map[string]string // of those that could be run, by name
	missed int
}

// add keeps and prints what was found of a mutant; "" if nothing was.
func (r *results) add(m mutant, s search, found string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.missed++
		fmt.Fprintf(os.Stderr, "%s: %v\n", m.Name, err)
		return
	}
	if found == "" {
		r.missed++
		found = s.missed
	}
	r.rows[m.Name] = fmt.Sprintf("| %s | %s |\n", m.Name, found)
	fmt.Print(r.rows[m.Name])
}

// broken is the text of the mutant's file with the mutant in it.
func (m mutant) broken() ([]byte, error) {
	text, err := os.ReadFile(m.File)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("%s holds the text to break %d times, not once: %q", m.File, n, m.Old)
	}
	return bytes.Replace(text, []byte(m.Old), []byte(m.New), 1), nil
}

// run builds the simulator with the mutant in it, and lets it search. It returns what the search has found, or nothing.
func (m mutant) run(s search) (string, error) {
	text, err := m.broken()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the folder of temporary files
	file, overlay, program := filepath.Join(dir, "broken.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulator.test")
	original, err := filepath.Abs(m.File)
	if err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {original: file}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		return "", err
	}
	if t, ok := byTests[m.Name]; ok {
		name, err := t.fall(overlay)
		if name == "" {
			return "", err
		}
		return fmt.Sprintf(s.tested, name), nil
	}
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "./e2e/simulator").CombinedOutput(); err != nil {
		return "", fmt.Errorf("does not compile: %w\n%s", err, out)
	}
	return s.find(m.Name, program)
}
