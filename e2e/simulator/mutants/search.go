package main

import (
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
)

// search is a way to look for a mutant, and the table for what it finds.
type search struct {
	find   func(name, program string) (string, error) // the cells of a row; "" if it finds nothing
	missed string                                     // these cells then
	tested string                                     // these cells if a test finds it instead
	table
}

// badLife is what the simulator says of a bad life that was drawn, nearLife of one in a miniature.
var (
	badLife  = regexp.MustCompile(`seed (\d+): .* violations \["([^:"]*)`)
	nearLife = regexp.MustCompile(`in miniature (.*) with (\d+) deviations: .* violations \["([^:"]*)`)
)

// inLives searches in lives that are drawn, first in the one that the table names. The last sweep has found the mutant there, so it most often is
// there.
func inLives(seeds int) (search, error) {
	_, rows, _, err := lives.read()
	if err != nil {
		return search{}, err
	}
	find := func(name, program string) (string, error) {
		if cells := strings.Split(rows[name], " | "); len(cells) > 1 {
			hit, _ := simulate(program, badLife, "TestSimulator$", "-bad", "1", "-first", cells[1], "-seeds", "1") // if not, all are searched
			if hit != nil {
				return fmt.Sprintf("%s | %s", hit[1], hit[2]), nil
			}
		}
		hit, err := simulate(program, badLife, "TestSimulator$", "-bad", "1", "-seeds", fmt.Sprint(seeds))
		if hit == nil {
			return "", err
		}
		return fmt.Sprintf("%s | %s", hit[1], hit[2]), nil
	}
	return search{find, fmt.Sprintf("**not in %d** | ", seeds), "no life | %s", lives}, nil
}

// unitTest is a test that falls with a mutant.
type unitTest struct{ folder, name string }

// byTests find mutants that 50,000 lives do not meet. What such a mutant breaks takes too many rare things at once, or is no matter of the accounting.
var byTests = map[string]unitTest{
	"pods begin again beside one that the cache does not show":               {"controllers/jobs", "TestPodsBeginAgainOnlyWhenAllThatRunAreSeen"},
	"what ran on beside code that had ended takes its success away":          {"kernel/podstate", "TestWhatEndsAPodAfterItsMainContainer"},
	"what an auxiliary replica takes along is counted when that is replaced": {"kernel", "TestWhoFailsWithAnAuxiliaryReplicaThatIsDisruptedIsExcused"},
	"a node's invention is waited for":                                       {"kernel/podstate", "TestALostContainerCountsOnce"},
	"an end that is held is noted before it comes":                           {"kernel", "TestAnEndThatIsHeldCountsOnce"},
	"a pod that has been told to stop is let go in a pause without a mark":   {"kernel", "TestAPauseMarksPodsThatHaveBeenToldToStop"},
	"a failure of an init container is marked as a disruption":               {"kernel/podstate", "TestWhoLacksAMark"},
	"a gang that is given up leaves no trace of its pods":                    {"kernel", "TestAJobWhoseGroupIsGivenUpHasHadPods"},
	"a pod outside its gang stays there for a helper that has failed":        {"kernel", "TestAPodOutsideItsGangIsStoppedUnlessItsOutcomeIsDecided"},
	"a gang lacks a pod that is about to be made in it":                      {"kernel", "TestAGroupLacksNoPodThatIsAboutToBeMadeInIt"},
}

// fall runs the test with the mutant, and returns its name if it falls.
func (t unitTest) fall(overlay string) (string, error) {
	out, err := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay", overlay, "-run", "^"+t.name+"$", "./"+t.folder).CombinedOutput()
	switch {
	case err == nil:
		return "", nil
	case !strings.Contains(string(out), "--- FAIL: "+t.name):
		return "", fmt.Errorf("%s did not run: %w\n%s", t.name, err, out)
	default:
		return fmt.Sprintf("`%s` of `%s`", t.name, t.folder), nil
	}
}

// searchedMiniatures are those whose lives with several deviations are searched: small ones, and one of each kind of failure.
const searchedMiniatures = "^(one replica|two operators|pause|a new leader|a failure|rules|policies|users|rare ends|rare ends in place|no progress)$"

// limitOfLives bounds a search with several deviations: in each miniature nothing new is begun after so many lives.
const limitOfLives = "5000"

// inMiniatures searches in the lives of miniatures, first in those with the fewest deviations. With one deviation at most it searches in all
// miniatures, with more in some lives of small ones. Before that it tries the miniature that the table names.
func inMiniatures(most int, small string) (search, error) {
	_, rows, _, err := deviations.read()
	if err != nil {
		return search{}, err
	}
	find := func(name, program string) (string, error) {
		if cells := strings.Split(rows[name], " | "); len(cells) > 3 && cells[2] != "" {
			if found, _ := near(program, cells[1], "^"+regexp.QuoteMeta(cells[2])+"$", limitOfLives); found != "" { // if not, all are searched
				return found, nil
			}
		}
		for k := range most + 1 {
			miniatures, limit := ".", "0"
			if k > 1 {
				miniatures, limit = small, limitOfLives
			}
			if found, err := near(program, fmt.Sprint(k), miniatures, limit); found != "" || err != nil {
				return found, err
			}
		}
		return "", nil
	}
	return search{find, fmt.Sprintf("more than %d | | ", most), "no life | | %s", deviations}, nil
}

// near returns the cells of the first bad life that is found with at most k deviations, or "".
func near(program, k, miniatures, limit string) (string, error) {
	hit, err := simulate(program, nearLife, "TestEverySchedule$", "-stop", "-miniatures", miniatures, "-k", k, "-limit", limit)
	if hit == nil {
		return "", err
	}
	return fmt.Sprintf("%s | %s | %s", hit[2], hit[1], hit[3]), nil
}

// simulate runs a test of the simulator, and returns what it says of the first bad life, or nothing.
func simulate(program string, finding *regexp.Regexp, test string, flags ...string) ([][]byte, error) {
	out, err := exec.Command(program, append([]string{"-test.run", test, "-test.timeout", "0"}, flags...)...).CombinedOutput()
	if err == nil {
		return nil, nil
	}
	hit := finding.FindSubmatch(out)
	if hit == nil {
		return nil, errors.Join(fmt.Errorf("the simulator failed without a finding: %w", err), errors.New(string(out)))
	}
	return hit, nil
}
