package simulator

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var seen = flag.String("seen", "", "a file that kubectl get pods --watch --output-watch-events -o json has written: keep what is new in it")

// kubelets holds one step of a real kubelet's a line: a look, an arrow, and the look after it.
const (
	kubelets = "testdata/kubelets.txt"
	arrow    = " -> "
)

// What pods of a real kubelet have looked like must be a path of the simulated one's. It may leave out steps: a watch does not show each.
func TestPodsLookAsThoseOfARealKubelet(t *testing.T) {
	simulated := Looks{}
	sweep(t, 0, 6000, func(_ int64, l *Life) bool {
		simulated.ofLife(l)
		return true
	})
	steps := readSteps(t)
	if *seen != "" {
		keepSteps(t, steps)
	}
	require.NotEmpty(t, steps)
	excused := map[string]bool{}
	for from, tos := range steps {
		for to := range tos {
			if row := isLeftOut(from, to); row != "" {
				excused[row] = true
				continue
			}
			assert.True(t, simulated.reaches(from, to), "the simulated kubelet never shows this:\n  %s\n  %s", from, to)
		}
	}
	for _, l := range leftOut {
		assert.True(t, excused[l.row], "no pod has shown this: take it off the list: %s", l.row)
	}
	require.False(t, simulated.reaches("once: Succeeded, code ended with 0", "once: Running, ready, code runs"), "no kubelet takes an end back")
}

// leftOut are looks that the simulated kubelet does not show, by the row of KUBELET.md that says why.
var leftOut = []struct {
	look *regexp.Regexp
	row  string
}{
	{regexp.MustCompile(`^once: .*, code ended with another code by Unknown$`), "| ... of a pod that does not restart in place | containerd |"},
	{regexp.MustCompile(`^once: Failed, Evicted, code .*, after another code$`), "| ... and its container is lost meanwhile | seen on a real kubelet |"},
	{regexp.MustCompile(`^in place: Failed, DeadlineExceeded, code (backs off|ended .* by ContainerStatusUnknown), after another code$`), "| ... while the container waits to be started again | seen on a real kubelet |"},
}

// isLeftOut returns the row of a step from or to a look that is left out; "" if it is none.
func isLeftOut(from, to string) (row string) {
	for _, l := range leftOut {
		if l.look.MatchString(from) || l.look.MatchString(to) {
			return l.row
		}
	}
	return ""
}

func TestTheTableSaysWhyLooksAreLeftOut(t *testing.T) {
	text, err := os.ReadFile("KUBELET.md")
	require.NoError(t, err)
	for _, l := range leftOut {
		_, row, found := strings.Cut(string(text), l.row)
		require.True(t, found, l.row)
		require.True(t, strings.HasPrefix(row, " left out: "), l.row)
	}
}

func readSteps(t *testing.T) Looks {
	t.Helper()
	f, err := os.Open(filepath.FromSlash(kubelets))
	require.NoError(t, err)
	defer f.Close()
	steps := Looks{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if from, to, ok := strings.Cut(lines.Text(), arrow); ok {
			steps.add(from, to)
		}
	}
	return steps
}

// keepSteps adds to steps what a watch has seen, and writes all of them.
func keepSteps(t *testing.T, steps Looks) {
	t.Helper()
	f, err := os.Open(*seen)
	require.NoError(t, err)
	defer f.Close()
	pods, err := steps.ofWatch(f)
	require.NoError(t, err)
	var lines []string
	for from, tos := range steps {
		for to := range tos {
			lines = append(lines, from+arrow+to+"\n")
		}
	}
	slices.Sort(lines)
	require.NoError(t, os.WriteFile(filepath.FromSlash(kubelets), []byte(strings.Join(lines, "")), 0o644))
	t.Logf("%d pods were seen; %d steps of real kubelets are known", pods, len(lines))
}
