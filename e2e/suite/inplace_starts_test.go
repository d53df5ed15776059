package suite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What code of one start leaves to the next, and that it never meets it.

// checkpointsAreComplete has code that is a shell's child, and takes three seconds to save its state when it is asked to stop. The shell itself
// ends at once. What the next start finds is whole; the rank that failed was not asked.
func checkpointsAreComplete(s *space) {
	template := inPod(inContainer(shell("print prepared jobAttempt $(jobAttempt) then run checkpoint 3 /scratch/checkpoint"),
		`"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]`), `"volumes": [{"name": "scratch", "emptyDir": {}}]`)
	job := s.submit("saved", `{restartScope: Job, restartStrategy: InPlace, backoffLimit: 3, replicaSpecs: [{type: worker, replicas: 4, template: `+template+`}]}`)
	for rank := range 4 {
		s.awaitLog(job, "worker", rank, "checkpoint 0 of 10\n")
	}
	before := s.identities(job)
	s.end(job, "worker", 1, 3)
	s.awaitCode(job, 1, upTo(4)...)
	for rank := range 4 {
		found := ""
		s.until(fmt.Sprintf("rank %d looks at its checkpoint again", rank), func() bool {
			_, found, _ = strings.Cut(s.logs(job, "worker", rank), "jobAttempt 1\n")
			return strings.Contains(found, "checkpoint ")
		})
		want := "checkpoint 10 of 10\n"
		if rank == 1 {
			want = "checkpoint 0 of 10\n"
		}
		require.Contains(s.t, found, want, "rank %d", rank)
	}
	s.finishRanks(job, 1, 0, upTo(4)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// unlikeTypesMeet has a type that restarts in place beside one without a command, whose pods are replaced. Each container notes in a file that all
// share when its code begins. Two seconds after it is asked to stop, it notes that it ends. Nothing of a start runs beside anything of another.
func unlikeTypesMeet(s *space) {
	folder := s.t.TempDir()
	require.NoError(s.t, os.Chmod(folder, 0o777)) // the worker is not root
	diary := func(template string) string {
		return inPod(strings.Replace(template, `"env":`, `"volumeMounts": [{"name": "shared", "mountPath": "/shared"}], "env":`, 1),
			`"volumes": [{"name": "shared", "hostPath": {"path": "`+folder+`"}}]`)
	}
	const steps = "diary /shared/diary $(jobAttempt) $(type)-$(rank)"
	job := s.submit("unlike", `{restartScope: Job, restartStrategy: InPlace, inPlaceLimit: 10, backoffLimit: 5, replicaSpecs: [
		{type: able, replicas: 2, template: `+diary(inPlace(steps))+`},
		{type: unable, replicas: 2, template: `+diary(pod(steps))+`}]}`)
	all := []string{"able-0", "able-1", "unable-0", "unable-1"}
	file := filepath.Join(folder, "diary")
	s.awaitDiary(file, 0, all)
	before := s.identities(job)
	fails := []struct {
		kind string
		rank int
	}{{"able", 1}, {"unable", 0}, {"able", 0}}
	for n, who := range fails {
		s.end(job, who.kind, who.rank, 3)
		s.awaitDiary(file, n+1, all)
	}
	for rank := range 2 {
		s.end(job, "able", rank, 0)
		s.end(job, "unable", rank, 0)
	}
	done := s.awaitPhase("unlike", v1beta1.JobSucceeded)
	s.requireOneStartAtATime(file, len(fails)+1, len(all))
	require.EqualValues(s.t, len(fails), done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	require.EqualValues(s.t, len(fails), done.Status.JobAttempt)
	s.requireRuns(job, "able", 1, 1)
	s.requireRuns(job, "unable", 1+len(fails), 1+len(fails))
	after := s.identities(job)
	require.Equal(s.t, before["able-0"], after["able-0"])
	require.Equal(s.t, before["able-1"], after["able-1"])
}

// awaitDiary waits until code of a start has begun everywhere.
func (s *space) awaitDiary(file string, jobAttempt int, names []string) {
	s.t.Helper()
	for _, name := range names {
		line := fmt.Sprintf("begin %d %s\n", jobAttempt, name)
		s.until("the diary has "+line, func() bool {
			text, err := os.ReadFile(file)
			if !errors.Is(err, fs.ErrNotExist) {
				require.NoError(s.t, err)
			}
			return strings.Contains(string(text), line)
		})
	}
}

// requireOneStartAtATime demands of a diary that what runs at a time is of one start. Nobody may end without a word, and each runs once in each
// start.
func (s *space) requireOneStartAtATime(file string, jobAttempts, names int) {
	s.t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(s.t, err)
	s.t.Logf("the diary:\n%s", text)
	runs, begun := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.Len(s.t, words, 3, line)
		what, jobAttempt, name := words[0], words[1], words[2]
		if what == "end" {
			require.Equal(s.t, jobAttempt, runs[name], line)
			delete(runs, name)
			continue
		}
		for other, its := range runs {
			require.Equal(s.t, jobAttempt, its, "%s begins start %s while %s runs start %s", name, jobAttempt, other, its)
		}
		require.False(s.t, begun[line], "%s begins start %s twice", name, jobAttempt)
		runs[name], begun[line] = jobAttempt, true
	}
	require.Empty(s.t, runs, "these have not ended")
	require.Len(s.t, begun, jobAttempts*names)
}
