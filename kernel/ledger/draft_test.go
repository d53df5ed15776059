package ledger

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func jobScope(job *v1beta1.GenericJob) { job.Spec.RestartScope = v1beta1.RestartScopeJob }

func TestRestartDelay(t *testing.T) {
	tests := map[int]time.Duration{
		0: 0, 1: 0, 2: time.Second, 3: 2 * time.Second, 4: 4 * time.Second, 9: 128 * time.Second, 10: 256 * time.Second,
		11: 5 * time.Minute, 12: 5 * time.Minute, 1 << 30: 5 * time.Minute,
	}
	for streak, want := range tests {
		require.Equal(t, want, restartDelay(streak), "streak %d", streak)
	}
}

// Worker 1 is replaced, of three workers, of which 0 has succeeded and 2 has failed for good; so has ps 0 succeeded.
func TestReplace(t *testing.T) {
	type status = v1beta1.GenericJobStatus
	record := func(attempt, restarts int32) []v1beta1.RankRecord {
		return []v1beta1.RankRecord{{Rank: 1, Attempt: attempt, Restarts: restarts, Streak: 1}}
	}
	kept := func(r []v1beta1.RankRecord) []v1beta1.TaskLedger {
		return []v1beta1.TaskLedger{{Type: "ps", Succeeded: "0"}, {Type: "worker", Succeeded: "0", Failed: "2", Replicas: r}}
	}
	anew := func(r []v1beta1.RankRecord) []v1beta1.TaskLedger {
		return []v1beta1.TaskLedger{{Type: "worker", Failed: "2", Replicas: r}}
	}
	debugged := modeOf(debug)
	tests := map[string]struct {
		edits []func(*v1beta1.GenericJob)
		mode  string
		as    Count
		want  status
	}{
		"a restart spends one of the replica's and one of all":      {nil, "", Restart, status{BackoffCount: 1, Ledger: kept(record(1, 1))}},
		"a disruption spends none":                                  {nil, "", Disruption, status{DisruptionCount: 1, Ledger: kept(record(1, 0))}},
		"what is not counted is still another attempt":              {nil, "", Uncounted, status{Ledger: kept(record(1, 0))}},
		"what a rule excepts is counted apart from restarts":        {nil, "", Excepted, status{ExceptedCount: 1, Ledger: kept(record(1, 0))}},
		"the whole job, excepted by a rule":                         {edits(jobScope), "", Excepted, status{JobAttempt: 1, ExceptedCount: 1, Ledger: anew(record(0, 0))}},
		"the whole job is one restart, and who succeeded is to run": {edits(jobScope), "", Restart, status{JobAttempt: 1, BackoffCount: 1, Ledger: anew(record(0, 1))}},
		"the whole job is one disruption":                           {edits(jobScope), "", Disruption, status{JobAttempt: 1, DisruptionCount: 1, Ledger: anew(record(0, 0))}},
		"the whole job, uncounted":                                  {edits(jobScope), "", Uncounted, status{JobAttempt: 1, Ledger: anew(record(0, 0))}},
		"in debug mode each replica is alone":                       {edits(jobScope), debugged, Disruption, status{Mode: debugged, DisruptionCount: 1, Ledger: kept(record(1, 0))}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(3, append(tc.edits, recorded(kept(nil)...))...)
			job.Status.Mode = tc.mode
			d := load(t, job)
			before := d.Attempt(d.Account("worker"), 1)
			d.StartOver(d.Account("worker"), 1, tc.as, 0, false, start)
			require.Equal(t, tc.want, saved(d, start))
			require.Equal(t, before+1, d.Attempt(d.Account("worker"), 1), "its pod is superseded, and the next one is not")
		})
	}
}

func edits(list ...func(*v1beta1.GenericJob)) []func(*v1beta1.GenericJob) { return list }

func TestDelays(t *testing.T) {
	short, long := 10*time.Minute-1, 10*time.Minute
	tests := map[string]struct {
		lived []time.Duration // how long the pods of worker 0 lived, one after the other
		other int32           // the streak of worker 1
		scope v1beta1.RestartScope
		want  []time.Duration // what each replacement has to wait
	}{
		"a first replacement comes at once":            {[]time.Duration{0}, 0, "", []time.Duration{0}},
		"short lives in a row are waited for longer":   {[]time.Duration{0, short, 0, 0}, 0, "", []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}},
		"a long life ends the row":                     {[]time.Duration{0, 0, 0, long, 0}, 0, "", []time.Duration{0, time.Second, 2 * time.Second, 0, time.Second}},
		"what a neighbour does is not its doing":       {[]time.Duration{0, 0}, 7, "", []time.Duration{0, time.Second}},
		"but the members of a collective fail in turn": {[]time.Duration{0, 0}, 3, v1beta1.RestartScopeJob, []time.Duration{4 * time.Second, 8 * time.Second}},
		"a long life ends the row of all of them":      {[]time.Duration{long, 0, 0}, 3, v1beta1.RestartScopeJob, []time.Duration{0, time.Second, 2 * time.Second}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(2, func(job *v1beta1.GenericJob) { job.Spec.RestartScope = tc.scope })
			if tc.other > 0 {
				job.Status.Ledger = []v1beta1.TaskLedger{records("worker", v1beta1.RankRecord{Rank: 1, Streak: tc.other})}
			}
			d := load(t, job)
			_, replaced := d.Delay(d.Account("worker"), 0, start)
			require.False(t, replaced)
			for i, lived := range tc.lived {
				d.StartOver(d.Account("worker"), 0, Disruption, lived, false, start)
				wait, replaced := d.Delay(d.Account("worker"), 0, start)
				require.Equal(t, tc.want[i], wait, "replacement %d", i)
				require.True(t, replaced)
				require.Equal(t, tc.want[i], d.NextDelay(start))
			}
		})
	}
}

// The status has whole seconds: what is cut off there must not make a delay shorter.
func TestADelayIsNotShortenedByStoringIt(t *testing.T) {
	now := start.Add(1500 * time.Millisecond)
	d := load(t, jobOf(3, recorded(records("worker", v1beta1.RankRecord{Rank: 0, Streak: 1}, v1beta1.RankRecord{Rank: 1, Streak: 4}))))
	for rank := range 2 {
		d.StartOver(d.Account("worker"), rank, Restart, 0, false, now)
	}
	d = load(t, jobOf(3, stored(saved(d, now))))
	for rank, most := range []time.Duration{2 * time.Second, 9 * time.Second} {
		wait, _ := d.Delay(d.Account("worker"), rank, now)
		require.GreaterOrEqual(t, wait, most-time.Second, "rank %d", rank)
		require.Less(t, wait, most, "rank %d", rank)
	}
	first, _ := d.Delay(d.Account("worker"), 0, now)
	require.Equal(t, first, d.NextDelay(now), "the shortest is next")
	later := now.Add(first)
	require.Positive(t, d.NextDelay(later), "one that is over is not next")
	require.Less(t, d.NextDelay(later), 8*time.Second)
	require.Zero(t, d.NextDelay(now.Add(time.Hour)))
}

func TestTrim(t *testing.T) {
	one := func(rank int32) v1beta1.RankRecord { return v1beta1.RankRecord{Rank: rank, Attempt: 1} }
	tests := map[string]struct {
		was, want v1beta1.TaskLedger // of three workers
	}{
		"outcomes of ranks that are there stay": {v1beta1.TaskLedger{Type: "worker", Succeeded: "0-2"}, v1beta1.TaskLedger{Type: "worker", Succeeded: "0-2"}},
		"a success that was scaled away is to run again, as another attempt": {
			v1beta1.TaskLedger{Type: "worker", Succeeded: "1-4"}, v1beta1.TaskLedger{Type: "worker", Succeeded: "1-2", Replicas: []v1beta1.RankRecord{one(3), one(4)}}},
		"so is a failure": {v1beta1.TaskLedger{Type: "worker", Failed: "3"}, records("worker", one(3))},
		"restarts that were spent stay spent": {
			v1beta1.TaskLedger{Type: "worker", Failed: "3", Replicas: []v1beta1.RankRecord{{Rank: 3, Attempt: 2, Restarts: 2, Streak: 2}}},
			records("worker", v1beta1.RankRecord{Rank: 3, Attempt: 3, Restarts: 2, Streak: 2})},
		"a rank without an outcome is left alone": {
			records("worker", v1beta1.RankRecord{Rank: 7, Attempt: 2}), records("worker", v1beta1.RankRecord{Rank: 7, Attempt: 2})},
		"a type that has gone has no outcomes left": {v1beta1.TaskLedger{Type: "gone", Succeeded: "0"}, records("gone", one(0))},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(3, recorded(tc.was)))
			d.ForgetScaledDown()
			require.Equal(t, []v1beta1.TaskLedger{tc.want}, saved(d, start).Ledger)
			d.ForgetScaledDown()
			require.Equal(t, []v1beta1.TaskLedger{tc.want}, saved(d, start).Ledger, "what is forgotten is not forgotten twice")
		})
	}
}

func TestDiscard(t *testing.T) {
	tests := map[string]struct {
		replicaType   string
		attempt, want int // the ledger is in attempt 2: one of the job, one of worker 4
	}{
		"a pod of this attempt is the last of it":  {"worker", 2, 3},
		"an older pod was discarded before":        {"worker", 1, 2},
		"a type that nobody knows gets an account": {"gone", 1, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(3, stored(v1beta1.GenericJobStatus{JobAttempt: 1, Ledger: []v1beta1.TaskLedger{records("worker", v1beta1.RankRecord{Rank: 4, Attempt: 1})}})))
			for range 2 { // the pod is still there in the next reconcile
				d.StartScaledDownAnew(tc.replicaType, 4, tc.attempt)
				require.Equal(t, tc.want, d.Attempt(d.Account(tc.replicaType), 4))
			}
		})
	}
}

// A pod whose attempt is below the ledger's is superseded for ever: if an attempt could come back, so could the pod.
func TestAttemptsAndCountsOnlyGrow(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		job := jobOf(4)
		if seed%2 == 1 {
			jobScope(job)
		}
		if seed%4 >= 2 {
			inPlace(job)
		}
		for range 60 {
			job.Spec.ReplicaSpecs[0].Replicas = ptr.To(1 + rng.Int32N(6))
			d := load(t, job)
			before := load(t, job)
			a, rank := d.Account("worker"), rng.IntN(6)
			switch rng.IntN(5) {
			case 0:
				d.StartOver(a, rank, Count(rng.IntN(int(Excepted)+1)), time.Duration(rng.IntN(20))*time.Minute, rng.IntN(2) == 0, start)
			case 1:
				d.Succeed(a, rank)
			case 2:
				d.Fail(a, rank)
			case 3:
				d.StartScaledDownAnew("worker", rank, rng.IntN(3))
			case 4:
				d.ForgetScaledDown()
			}
			for rank := range 6 {
				require.GreaterOrEqual(t, d.Attempt(a, rank), before.Attempt(before.Account("worker"), rank), "seed %d, rank %d", seed, rank)
				if starts := d.Starts(a, rank); seed%4 < 2 { // each attempt is one start, in a new pod
					require.EqualValues(t, d.Attempt(a, rank), starts.All(), "seed %d, rank %d", seed, rank)
				} else {
					require.LessOrEqual(t, int(starts.All()), d.Attempt(a, rank), "seed %d, rank %d", seed, rank)
				}
			}
			require.GreaterOrEqual(t, a.Restarts(), before.Account("worker").Restarts(), "seed %d", seed)
			s := saved(d, start)
			require.GreaterOrEqual(t, s.BackoffCount, job.Status.BackoffCount, "seed %d", seed)
			require.GreaterOrEqual(t, s.DisruptionCount, job.Status.DisruptionCount, "seed %d", seed)
			require.GreaterOrEqual(t, s.ExceptedCount, job.Status.ExceptedCount, "seed %d", seed)
			job = job.DeepCopy()
			job.Status = s
		}
		require.NotEmpty(t, job.Status.Ledger)
	}
}
