package main_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/top"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
	"github.com/genericjob/genericjob/kernel/ledger"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestViews(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			compare(t, filepath.Join("testdata", name+".golden"), views(story()))
		})
	}
	files, err := filepath.Glob("testdata/*.golden")
	require.NoError(t, err)
	require.Len(t, files, len(stories), "a golden file without a story")
}

// Each attempt of a replica is one start, so what is shown of its starts adds up to these.
func TestTheStartsThatAreShownAddUp(t *testing.T) {
	for name, story := range stories {
		t.Run(name, func(t *testing.T) {
			f := story()
			if f.GenericJob == nil {
				return
			}
			l, err := ledger.Load(f.GenericJob)
			require.NoError(t, err)
			want := map[string]int32{}
			for _, a := range l.Accounts() {
				for rank := range a.N {
					if n := l.Attempt(a, rank); n > 0 {
						want[fmt.Sprintf("%s-%d", a.Type, rank)] = int32(n)
					}
				}
			}
			inTop, inTree := map[string]int32{}, map[string]int32{}
			for _, r := range top.Replicas(f.GenericJob) {
				inTop[r.Name] = r.Restarts + r.WithJob + r.Uncounted + r.More
			}
			for _, b := range replicasOf(tree.Of(f, clockOf[f])) {
				if n := b.Restarts + b.WithJob + b.Uncounted + b.More; n > 0 {
					inTree[b.Replica] = n
				}
			}
			require.Equal(t, want, inTop)
			require.Equal(t, want, inTree)
		})
	}
}

func replicasOf(b tree.Branch) (out []tree.Branch) {
	for _, child := range b.Branches {
		out = append(out, replicasOf(child)...)
		if child.Replica != "" {
			out = append(out, child)
		}
	}
	return out
}

// views returns all that the plugin shows of a job.
func views(f *jobs.Family) string {
	now := clockOf[f]
	out := "$ kubectl gj tree\n" + strings.Join(tree.Style{}.Lines(tree.Fold(tree.Of(f, now))), "\n")
	out += "\n\n$ kubectl gj why\n" + why.Of(f, now).Text() + "\n"
	if f.GenericJob == nil {
		return out
	}
	if rows := top.Replicas(f.GenericJob); len(rows) > 0 {
		out += "\n$ kubectl gj top NAME\n"
		for _, row := range top.TableOfReplicas(rows, now) {
			out += strings.Join(row, " | ") + "\n"
		}
		out += "\n$ kubectl gj top\n"
		for _, row := range top.TableOfJobs(top.Jobs([]v1beta1.GenericJob{*f.GenericJob}), false, now) {
			out += strings.Join(row, " | ") + "\n"
		}
	}
	if first := logs.First(f); first != nil {
		out += "\n$ kubectl gj logs --first-failure\n" + first.Head(f, tree.Describe(first.ReplicaFailure)) + "\n"
		out += fmt.Sprintf("(its pod is still there: %v)\n", first.Kept != nil)
	}
	return out
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: if the change is meant, run the test with -update", file)
}
