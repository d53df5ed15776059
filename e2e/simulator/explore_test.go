package simulator

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	mostDeviations   = flag.Int("k", 1, "live all lives with at most so many deviations from the healthy one")
	chosenMiniatures = flag.String("miniatures", "", "only the miniatures whose name this regular expression matches")
	limitOfLives     = flag.Int("limit", 0, "begin nothing new in a miniature after so many lives; 0 for no limit")
	keepIn           = flag.String("keep", "", "a folder for what is done; the next run of the same program goes on from there")
	theDeviations    = flag.String("deviations", "", "tell the life with these alone, each as <choice>:<outcome>")
	stopAtFirst      = flag.Bool("stop", false, "stop at the first life that is bad")
)

// TestEverySchedule lives all lives of all miniatures that are near the healthy ones. It prints a row of each miniature.
func TestEverySchedule(t *testing.T) {
	chosen := regexp.MustCompile(*chosenMiniatures)
	fmt.Print("| miniature | k | choices | lives | states | minutes | violations |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	lived := 0
	for _, s := range Miniatures {
		if *stopAtFirst && t.Failed() {
			return
		}
		if chosen.MatchString(s.Name) {
			lived += exploreMiniature(t, s)
		}
	}
	require.Positive(t, lived, "no miniature has that name")
}

// tellLife lives a life of a miniature to be told. It returns how many lives were lived.
func tellLife(t *testing.T, s *Miniature) int {
	var list []Deviation
	for one := range strings.SplitSeq(*theDeviations, ",") {
		var d Deviation
		_, err := fmt.Sscanf(one, "%d:%d", &d.At, &d.Outcome)
		require.NoError(t, err, one)
		list = append(list, d)
	}
	l, _ := LiveIn(t.Context(), s, list, true)
	t.Logf("%s\n%s", l, l.Story())
	require.Empty(t, l.Violations())
	return 1
}

// exploreMiniature returns how many lives were lived.
func exploreMiniature(t *testing.T, s *Miniature) int {
	if *theDeviations != "" {
		return tellLife(t, s)
	}
	k, err := openKeeper(*keepIn, s, *mostDeviations)
	require.NoError(t, err)
	began, told := time.Now(), time.Now()
	e := NewExploration(s, *mostDeviations, k.before)
	e.Limit, e.Stop = *limitOfLives, *stopAtFirst
	e.Run(t.Context(), runtime.GOMAXPROCS(0), func(p *Part) {
		k.keep(p)
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%s: %d lives, %d states, %d bad; %d of %d first deviations are done\n",
				s.Name, e.Lives, len(e.States), len(e.Found), len(e.done), e.Parts)
		}
	})
	require.NoError(t, k.close())
	minutes := (k.took + time.Since(began)).Minutes()
	fmt.Printf("| %s | %d | %d | %d | %d | %.1f | %d |\n", s.Name, e.Most, e.Choices, e.Lives, len(e.States), minutes, len(e.Found))
	if e.Left > 0 {
		fmt.Printf("%s: %d of %d first deviations are left, for the limit\n", s.Name, e.Left, e.Parts)
	}
	tellFindings(t, s, e.Found)
	return e.Lives
}

// tellFindings fails the test by one life of each invariant that is broken.
func tellFindings(t *testing.T, s *Miniature, found []Finding) {
	times := map[string]int{}
	for _, f := range found {
		times[InvariantOf(f.Violation)]++
	}
	for _, f := range found {
		n := times[InvariantOf(f.Violation)]
		if delete(times, InvariantOf(f.Violation)); n == 0 {
			continue
		}
		f = ShrinkIn(context.Background(), s, f)
		l, _ := LiveIn(context.Background(), s, f.Deviations, true)
		t.Errorf("in miniature %s with %d deviations: %s\nas in %d lives; replay it with -miniatures='^%s$' -deviations=%s\n%s",
			s.Name, len(f.Deviations), l, n, s.Name, strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Deviations), " ", ","), "[]"), l.Story())
	}
}
