package goodput

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

var update = flag.Bool("update", false, "write the table of kernel/time.md")

// version is the one of the library that requirements.txt pins, and that the table is of.
const version = "0.2.3"

// What their account has beside BadputType.
const (
	notSeen    = "" // before the first record, or after the last
	productive = "PRODUCTIVE"
)

// piece is time of the life that both bookkeepers see as one thing.
type piece struct {
	what    string
	seconds int
	ours    v1beta1.TimeCause
	theirs  string
	words   string // what the table has for theirs
}

// pieces are all the time of the life.
func pieces() []piece {
	const infrastructure = "INFRASTRUCTURE_RECOVERY_FROM_DISRUPTION"
	first, last := starts[0], starts[len(starts)-1]
	compiles, again, cut := 0, 0, 0
	for i, s := range starts {
		compiles += s.firstTakes - stepTakes
		if i+1 < len(starts) {
			again += (s.last - starts[i+1].first) * stepTakes
			cut += s.ends - s.stepBegins(s.last)
		}
	}
	return []piece{
		{"waits for its queue", admitted, v1beta1.TimeQueued, notSeen, "not seen: no code runs"},
		{"pods find nodes and start", first.begins - admitted, v1beta1.TimeStarting, notSeen, "not seen"},
		{"initializes, three times", len(starts) * initializes, v1beta1.TimeProductive, "TPU_INITIALIZATION", "badput, TPU initialization"},
		{"reads a checkpoint, three times", len(starts) * prepares, v1beta1.TimeProductive, "TRAINING_PREP", "badput, training preparation"},
		{"first steps, so far as they are longer than others", compiles, v1beta1.TimeProductive, "PROGRAM_STARTUP", "badput, program startup"},
		{"steps that last", (last.last + 1) * stepTakes, v1beta1.TimeProductive, productive, "goodput"},
		{"steps that are done again, once", again, v1beta1.TimeProductive, "WASTED_PROGRESS_FROM_DISRUPTION", "badput, wasted progress"},
		{"two steps that are cut off", cut, v1beta1.TimeProductive, infrastructure, "badput, infrastructure recovery"},
		{"from the failure until all run", starts[1].begins - first.ends, v1beta1.TimeLostToRestart, infrastructure, "badput, infrastructure recovery"},
		{"from the eviction until all run", last.begins - starts[1].ends, v1beta1.TimeLostToDisruption, infrastructure, "badput, infrastructure recovery"},
		{"exits, after its last record", endsAfter, v1beta1.TimeProductive, notSeen, "not seen"},
	}
}

// again is how long the steps took that were done again.
func again() (seconds int) {
	for _, p := range pieces() {
		if p.theirs == "WASTED_PROGRESS_FROM_DISRUPTION" {
			seconds += p.seconds
		}
	}
	return seconds
}

// sums are the pieces by what a bookkeeper calls them.
func sums(by func(piece) string) map[string]float64 {
	all := map[string]float64{}
	for _, p := range pieces() {
		all[by(p)] += float64(p.seconds)
	}
	return all
}

// names are what time.md calls the causes.
var names = map[v1beta1.TimeCause]string{v1beta1.TimeLostToRestart: "lost.restart", v1beta1.TimeLostToDisruption: "lost.disruption"}

func TestOurTimeSpent(t *testing.T) {
	job := ours()
	is := job.Status.Time
	require.Equal(t, v1beta1.JobSucceeded, job.Status.Phase)
	have := map[string]float64{}
	for _, cause := range v1beta1.TimeCauses {
		if n := *is.Of(cause); n != 0 {
			have[string(cause)] = float64(n)
		}
	}
	require.Equal(t, sums(func(p piece) string { return string(p.ours) }), have)
	require.EqualValues(t, again(), is.Recomputed)
	require.False(t, is.RecomputedAtLeast)
	require.Equal(t, fmt.Sprintf("%.3f", (have["productive"]-float64(again()))/float64(is.Total)), is.Goodput)
	require.EqualValues(t, 1, job.Status.BackoffCount)
	require.EqualValues(t, 1, job.Status.DisruptionCount)
	writeTable(t, is.Goodput)
}

// account is theirs, in seconds by BadputType.
type account struct {
	Version        string
	Account        map[string]float64
	Total, Goodput float64
	Disruptions    int
}

// theirs is what they make of records.
func theirs(t *testing.T, records [][3]any) (is account) {
	t.Helper()
	python := os.Getenv("PYTHON")
	if python == "" {
		t.Skip("PYTHON names no program: run `make test-goodput`, which makes one")
	}
	life, err := json.Marshal(records)
	require.NoError(t, err)
	run := exec.CommandContext(t.Context(), python, "theirs.py")
	run.Stdin, run.Env = bytes.NewReader(life), append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var said bytes.Buffer
	run.Stderr = &said
	out, err := run.Output()
	require.NoError(t, err, said.String())
	require.NoError(t, json.Unmarshal(out, &is))
	require.Equal(t, version, is.Version)
	return is
}

func TestTheirAccount(t *testing.T) {
	is := theirs(t, records())
	want := sums(func(p piece) string { return p.theirs })
	delete(want, notSeen)
	for name, seconds := range is.Account {
		require.InDelta(t, want[name], seconds, 0.001, name)
	}
	total := 0.0
	for name, seconds := range want {
		require.Contains(t, is.Account, name)
		total += seconds
	}
	require.InDelta(t, total, is.Total, 0.001)
	require.InDelta(t, want[productive]/total, is.Goodput, 0.0001)
	require.Equal(t, 2, is.Disruptions, "they count failures, too")
	t.Logf("our time spent, and their account:\n%s", table(ours().Status.Time.Goodput))
}

// table is the life with our time spent and their account.
func table(goodput string) string {
	var b strings.Builder
	total, seen, good := 0, 0, 0
	fmt.Fprintf(&b, "| what the job does | seconds | `status.time` | ml-goodput-measurement %s |\n| --- | --- | --- | --- |\n", version)
	for _, p := range pieces() {
		name := names[p.ours]
		if name == "" {
			name = string(p.ours)
		}
		if p.seconds == again() && p.theirs == "WASTED_PROGRESS_FROM_DISRUPTION" {
			name += ", and as much `recomputed`"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", p.what, p.seconds, name, p.words)
		total += p.seconds
		if p.theirs != notSeen {
			seen += p.seconds
		}
		if p.theirs == productive {
			good += p.seconds
		}
	}
	fmt.Fprintf(&b, "| total | %d | %d | %d |\n", total, total, seen)
	fmt.Fprintf(&b, "| goodput | | %s | %.3f |\n", goodput, float64(good)/float64(seen))
	return b.String()
}

// writeTable compares the table of kernel/time.md with this, or writes it.
func writeTable(t *testing.T, goodput string) {
	t.Helper()
	const begins, ends = "<!-- The table is written by `make test-goodput UPDATE=-update`. -->\n\n", "\n<!-- The end of the table. -->"
	root, err := testenv.Root()
	require.NoError(t, err)
	file := filepath.Join(root, "kernel", "time.md")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begins)
	require.True(t, found, "kernel/time.md has no place for the table")
	stands, after, found := strings.Cut(rest, ends)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begins+table(goodput)+ends+after), 0o600))
		return
	}
	require.Equal(t, table(goodput), stands, "run make test-goodput UPDATE=-update")
}
