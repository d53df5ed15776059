package ledger

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

func own(limit int32, kind v1beta1.RestartPolicyType) func(*v1beta1.GenericJob) {
	return func(job *v1beta1.GenericJob) {
		job.Spec.ReplicaSpecs[0].RestartPolicy = &v1beta1.RestartPolicy{Policy: kind, Limit: &limit}
	}
}

func shared(limit int32) func(*v1beta1.GenericJob) {
	return func(job *v1beta1.GenericJob) { job.Spec.BackoffLimit = &limit }
}

// Worker 0 was restarted twice, worker 1 never.
func TestLimits(t *testing.T) {
	tests := map[string]struct {
		edits  []func(*v1beta1.GenericJob)
		within [2]bool   // of worker 0 and 1
		spent  [2][2]int // of each, and the limit
		budget int
	}{
		"without any limit nothing is restarted":   {nil, [2]bool{false, false}, [2][2]int{{2, 0}, {0, 0}}, spec.Unlimited},
		"an own limit is each replica's":           {edits(own(2, "")), [2]bool{false, true}, [2][2]int{{2, 2}, {0, 2}}, spec.Unlimited},
		"one more leaves room":                     {edits(own(3, "")), [2]bool{true, true}, [2][2]int{{2, 3}, {0, 3}}, spec.Unlimited},
		"a shared limit is everyone's":             {edits(shared(2)), [2]bool{false, false}, [2][2]int{{2, 2}, {2, 2}}, 0},
		"what is left of it is for whoever asks":   {edits(shared(3)), [2]bool{true, true}, [2][2]int{{2, 3}, {2, 3}}, 1},
		"both must leave room: the own one is out": {edits(shared(3), own(2, "")), [2]bool{false, true}, [2][2]int{{2, 3}, {2, 3}}, 1},
		"both must leave room: the shared is out":  {edits(shared(2), own(9, "")), [2]bool{false, false}, [2][2]int{{2, 2}, {2, 2}}, 0},
		"a limit below what is spent owes nothing": {edits(shared(1)), [2]bool{false, false}, [2][2]int{{2, 1}, {2, 1}}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(2, append(tc.edits, stored(v1beta1.GenericJobStatus{
				BackoffCount: 2, Ledger: []v1beta1.TaskLedger{records("worker", v1beta1.RankRecord{Rank: 0, Attempt: 2, Restarts: 2})},
			}))...))
			a := d.Account("worker")
			require.Equal(t, tc.budget, d.SharedRestartsLeft())
			for rank := range 2 {
				require.Equal(t, tc.within[rank], d.IsWithinLimit(a, rank), "rank %d", rank)
				spent, limit := d.Spent(a, rank)
				got := [2]int{spent, limit}
				require.Equal(t, tc.spent[rank], got, "rank %d", rank)
				require.False(t, d.RunsAgain(a, rank), "a success is final")
			}
		})
	}
}

func TestASuccessIsFinalUnlessItsPolicyAndItsLimitSayOtherwise(t *testing.T) {
	tests := map[string]struct {
		edits []func(*v1beta1.GenericJob)
		want  bool
	}{
		"OnFailure":                      {edits(own(1, v1beta1.RestartOnFailure)), false},
		"Always with a restart left":     {edits(own(1, v1beta1.RestartAlways)), true},
		"Always with none left":          {edits(own(0, v1beta1.RestartAlways)), false},
		"Always with none left of all":   {edits(own(5, v1beta1.RestartAlways), shared(0)), false},
		"ExitCode does not list success": {edits(own(1, v1beta1.RestartExitCode)), false},
		"Always that is limited by all only": {edits(shared(1), func(j *v1beta1.GenericJob) {
			j.Spec.ReplicaSpecs[0].RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways}
		}), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(1, tc.edits...))
			require.Equal(t, tc.want, d.RunsAgain(d.Account("worker"), 0))
		})
	}
}

// A limit is exact: N restarts, never N+1, by whichever limit.
func TestALimitOfNAllowsNRestarts(t *testing.T) {
	for name, edit := range map[string]func(*v1beta1.GenericJob){"own": own(4, ""), "shared": shared(4)} {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(1, edit))
			restarts := 0
			for ; restarts < 100 && d.IsWithinLimit(d.Account("worker"), 0); restarts++ {
				d.StartOver(d.Account("worker"), 0, Disruption, 0, false, start)
				d.StartOver(d.Account("worker"), 0, Restart, 0, false, start)
			}
			require.Equal(t, 4, restarts)
		})
	}
}

func TestCloseIfFull(t *testing.T) {
	// alternate says something else of each rank than of its neighbours, in as many bytes as it can.
	alternate := func(replicaType string, n int32) v1beta1.TaskLedger {
		list := records(replicaType)
		for rank := range n {
			list.Replicas = append(list.Replicas, v1beta1.RankRecord{
				Rank: rank, Attempt: 1000 + rank%2, Restarts: 1, Streak: 1 << 20, NotBefore: stamp(9)})
		}
		return list
	}
	same := func(n int32) v1beta1.TaskLedger {
		return records("worker", v1beta1.RankRecord{Rank: 0, LastRank: n - 1, Attempt: 1, Restarts: 1, NotBefore: stamp(9)})
	}
	tests := map[string]struct {
		ledger []v1beta1.TaskLedger
		full   bool
	}{
		"few records":                      {[]v1beta1.TaskLedger{alternate("worker", 100)}, false},
		"many, but there is room":          {[]v1beta1.TaskLedger{alternate("worker", 9000)}, false},
		"many that fit in one":             {[]v1beta1.TaskLedger{same(spec.MaxReplicas)}, false},
		"more than can be stored":          {[]v1beta1.TaskLedger{alternate("worker", 9000), alternate("ps", 9000)}, true},
		"a type that has gone counts, too": {[]v1beta1.TaskLedger{alternate("worker", 9000), alternate("gone", 9000)}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(9000, recorded(tc.ledger...))
			d := load(t, job)
			d.Succeed(d.Account("worker"), 3)
			restarts, before := d.Account("worker").Restarts(), saved(d, start)
			full := d.CloseIfFull(start)
			require.Equal(t, restarts, d.Account("worker").Restarts(), "the sums stay")
			after := saved(d, start)
			if !tc.full {
				require.Nil(t, full)
				require.Equal(t, before, after)
				return
			}
			text, err := json.Marshal(before.Ledger)
			require.NoError(t, err)
			require.Equal(t, &Full{18000, len(text), maxLedger, false}, full)
			require.Greater(t, full.Size, full.Most)
			require.Equal(t, []v1beta1.TaskLedger{{Type: "worker", Succeeded: "3"}}, after.Ledger, "outcomes stay")

			after.CompletionTime, after.Tasks = stamp(0), []v1beta1.TaskStatus{{Type: "worker", RestartCount: restarts}}
			again := load(t, jobOf(9000, stored(after)))
			require.Equal(t, restarts, again.Account("worker").Restarts(), "and are read again from the rows of a job that has ended")
		})
	}
}

func TestRestartsOfAType(t *testing.T) {
	tests := map[string]struct {
		row  int32 // what the stored row of the type says; the records say 5
		over bool
		want int32
	}{
		"a job that goes on has its records":             {9, false, 5},
		"records may have been dropped at the end":       {9, true, 9},
		"a row that says less takes no restart away":     {1, true, 5},
		"a row that says the same is not counted beside": {5, true, 5},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := v1beta1.GenericJobStatus{
				Ledger: []v1beta1.TaskLedger{records("worker", v1beta1.RankRecord{Rank: 0, Restarts: 2}, v1beta1.RankRecord{Rank: 4, LastRank: 6, Restarts: 1})},
				Tasks:  []v1beta1.TaskStatus{{Type: "worker", RestartCount: tc.row}, {Type: "nobody's", RestartCount: 1}},
			}
			if tc.over {
				s.CompletionTime = stamp(1)
			}
			require.Equal(t, tc.want, load(t, jobOf(2, stored(s))).Account("worker").Restarts())
		})
	}
}
