package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rare fails in each second run, however many there are at once, and never if it runs alone.
const rare = `func TestRare(t *testing.T) {
	for os.Mkdir("second", 0o700) != nil {
		if os.Remove("second") == nil {
			t.Run("sub", func(t *testing.T) { t.Error("not again") })
			return
		}
	}
}`

func TestWhatFailsAtTimesIsCountedAndItsLogIsKept(t *testing.T) {
	o := within(checkoutOf(t, map[string]string{"m/rare": rare, "m/ok": passes, "m/none": "", "m/broken": `func TestNone(*testing.T) { undefined() }`, "m/panics": panics}))
	o.flakes, o.runs, o.seed = true, 4, 4711
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), &out, o, []module{{folder: "m"}}), errFailed)
	text := out.String()
	require.Contains(t, text, "the tests of 4 packages and runs each 4 times")
	require.Contains(t, text, " SEED=4711 ")
	require.Regexp(t, `(?m)^ok  \texample.com/m/ok, round 4\t\S+s\t\(\d+ of 20\)$`, text)
	require.Regexp(t, `(?m)^FAIL\texample.com/m/broken\t\(\d of 20\)$`, text)
	require.Len(t, regexp.MustCompile(`(?m)^FAIL\texample.com/m/rare, round `).FindAllString(text, -1), 2)
	_, summary, found := strings.Cut(text, "\nFAILED (times in 4 runs, package, test, log of the first time), SEED=4711, ")
	require.True(t, found, text)
	logs := filepath.Join(o.checkout, "dist/flakes/4711")
	require.Contains(t, summary, "  4\texample.com/m/panics\tTestPanics\t"+logs+"/")
	require.Contains(t, summary, "  1\texample.com/m/broken\t(does not compile)\t\n")
	kept := regexp.MustCompile(`(?m)^  2\texample.com/m/rare\tTestRare/sub\t(.*)$`).FindStringSubmatch(summary)
	require.NotNil(t, kept, summary)
	log, err := os.ReadFile(kept[1])
	require.NoError(t, err)
	require.Regexp(t, `^go -C m test -count=1 -shuffle=471\d example.com/m/rare\n`, string(log))
	first, _, _ := strings.Cut(string(log), "\n")
	require.Contains(t, text, "    "+first+"\n    example.com/m/rare: TestRare")
	require.Contains(t, string(log), "-test.shuffle 471")
	require.Contains(t, string(log), "not again")
	require.NotContains(t, text, "example.com/m/ok\t"+logs)
}

func TestNothingThatFailsIsASuccessAndLeavesNothing(t *testing.T) {
	o := within(tiny(t))
	o.flakes, o.runs = true, 2
	cache, err := output(program(t.Context(), ".", "env", "GOCACHE"))
	require.NoError(t, err)
	beside := t.TempDir()
	require.NoError(t, os.Symlink(strings.TrimSpace(cache), filepath.Join(beside, "go-build")))
	t.Setenv("GOCACHE", filepath.Join(beside, "go-build"))
	small := t.TempDir()
	t.Setenv("TMPDIR", small)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, o, modules), "%s", &out)
	require.Regexp(t, `\nNothing failed in 2 runs of each package, \S+; SEED=[1-9]\d*\.\n$`, out.String())
	require.Contains(t, out.String(), fmt.Sprintf("(%d of %d)", 3*len(modules), 3*len(modules)))
	left, err := os.ReadDir(beside)
	require.NoError(t, err)
	require.Len(t, left, 1, "the cache alone")
	left, err = os.ReadDir(small)
	require.NoError(t, err)
	require.Empty(t, left)
	require.False(t, exists(filepath.Join(o.checkout, "dist")))
}

func TestWhatNeedsAnApiserverIsRepeatedWithIt(t *testing.T) {
	next := turn{&target{goPackage{ImportPath: "example.com/m/x"}, module{folder: "m", apiserver: true}, "", "/a cache/it's"}, 1, 7}
	require.Equal(t, `KUBEBUILDER_ASSETS='/a cache/it'\''s' go -C m test -count=1 -shuffle=7 example.com/m/x`, next.repeat())
}

func TestFlakesOfNothingAreRefused(t *testing.T) {
	o := within(checkoutOf(t, map[string]string{"m/none": "", "m/ok": passes}))
	o.flakes, o.runs, o.packages = true, 1, "none"
	const refused = "there is nothing to run: -runs is "
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, o, []module{{folder: "m"}}), refused+`1, and 0 packages that match "none" have tests`)
	o.runs, o.packages = 0, ""
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, o, []module{{folder: "m"}}), refused+"0, and 1 packages")
}

func TestASeedRepeatsTheOrderAndAnotherHasAnother(t *testing.T) {
	targets := []*target{}
	for range 10 {
		targets = append(targets, &target{})
	}
	turns := shuffle(targets, 3, 1)
	require.Equal(t, turns, shuffle(targets, 3, 1))
	for _, other := range [][]turn{shuffle(targets, 3, 2), append(turns[10:20:20], turns[:10]...)} {
		same := true
		for i := range turns[:10] {
			same = same && turns[i].target == other[i].target
		}
		require.False(t, same, "this order is not drawn")
	}
	rounds := map[*target]int{}
	seeds := map[int64]bool{}
	for _, next := range turns {
		rounds[next.target] += next.round
		seeds[next.seed] = true
	}
	require.Len(t, rounds, 10)
	require.Len(t, seeds, 3, "each round shuffles the tests of a package anew")
	for _, sum := range rounds {
		require.Equal(t, 1+2+3, sum)
	}
}

func TestBusyLoopsRunUntilTheyAreStopped(t *testing.T) {
	stop, err := startLoops(2)
	require.NoError(t, err)
	loops := descendants(os.Getpid())
	require.Len(t, loops, 2)
	until(t, "each takes time", func() bool { return ticks(t, loops[0]) > 2 && ticks(t, loops[1]) > 2 })
	require.Len(t, descendants(os.Getpid()), 2)
	stop()
	require.Empty(t, descendants(os.Getpid()))
}

// ticks is how much time of a core a process has had, in hundredths of a second.
func ticks(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	require.NoError(t, err)
	number, err := strconv.Atoi(strings.Fields(string(raw)[strings.LastIndex(string(raw), ")")+1:])[11])
	require.NoError(t, err)
	return number
}
