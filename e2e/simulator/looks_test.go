package simulator

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
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
	for from, tos := range steps {
		for to := range tos {
			assert.True(t, simulated.reaches(from, to), "the simulated kubelet never shows this:\n  %s\n  %s", from, to)
		}
	}
	require.False(t, simulated.reaches("once: Succeeded, code ended with 0", "once: Running, ready, code runs"), "no kubelet takes an end back")
}

func readSteps(t *testing.T) Looks {
	t.Helper()
	f, err := os.Open(filepath.FromSlash(kubelets))
	require.NoError(t, err)
	defer f.Close()
	steps := Looks{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if from, to, is := strings.Cut(lines.Text(), arrow); is {
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
