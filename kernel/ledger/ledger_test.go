package ledger

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func minute(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func stamp(n int) *metav1.Time { return ptr.To(metav1.NewTime(minute(n))) }

// jobOf is a job with so many workers and one ps. Edits are of spec and status.
func jobOf(workers int32, edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid", Generation: 1}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &workers}, {Type: "ps"}}
	for _, edit := range edits {
		edit(job)
	}
	return job
}

func stored(s v1beta1.GenericJobStatus) func(*v1beta1.GenericJob) {
	return func(job *v1beta1.GenericJob) { job.Status = s }
}

func recorded(ledgers ...v1beta1.TaskLedger) func(*v1beta1.GenericJob) {
	return func(job *v1beta1.GenericJob) { job.Status.Ledger = ledgers }
}

func records(replicaType string, list ...v1beta1.RankRecord) v1beta1.TaskLedger {
	return v1beta1.TaskLedger{Type: replicaType, Replicas: list}
}

func load(t *testing.T, job *v1beta1.GenericJob) Draft {
	t.Helper()
	before := job.DeepCopy()
	d, err := Load(job)
	require.NoError(t, err)
	t.Cleanup(func() { require.Equal(t, before, job, "the stored job was changed") })
	return d
}

// saved is the status that a ledger is stored in.
func saved(d Draft, now time.Time) v1beta1.GenericJobStatus {
	var s v1beta1.GenericJobStatus
	d.Save(&s, now)
	return s
}

func TestWhatIsSavedIsReadAsItWas(t *testing.T) {
	many := records("worker")
	for rank := range int32(manyRecords + 200) { // ranks 1000 to 1003 say the same
		many.Replicas = append(many.Replicas, v1beta1.RankRecord{Rank: rank, Attempt: 1 + rank%2, Restarts: 1, Streak: 1})
	}
	many.Replicas[1000] = v1beta1.RankRecord{Rank: 1000, LastRank: 1003, Attempt: 9, Restarts: 4, NotBefore: stamp(5)}
	many.Replicas = append(many.Replicas[:1001], many.Replicas[1004:]...)
	tests := map[string]v1beta1.GenericJobStatus{
		"nothing": {},
		"the job as a whole": {JobAttempt: 2, BackoffCount: 3, DisruptionCount: 4, Mode: "Paused", ModeGeneration: 5, StartTime: stamp(0), PauseTime: stamp(7),
			PausedSeconds: 8, PauseCount: 9},
		"outcomes and records": {Ledger: []v1beta1.TaskLedger{
			{Type: "ps", Failed: "0", Replicas: []v1beta1.RankRecord{{Rank: 0, Attempt: 3, Restarts: 2, Streak: 1, NotBefore: stamp(9)}}},
			{Type: "worker", Succeeded: "0-3,7", Failed: "5"},
		}},
		"a type that the spec does not have keeps its records": {Ledger: []v1beta1.TaskLedger{records("gone", v1beta1.RankRecord{Rank: 2, Attempt: 1})}},
		"a delay that is over stays, as long as there is room": {Ledger: []v1beta1.TaskLedger{
			records("worker", v1beta1.RankRecord{Rank: 1, Attempt: 1, NotBefore: stamp(-1)})}},
		"many records, of which equal neighbours share one": {Ledger: []v1beta1.TaskLedger{many}},
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(s)
			require.NoError(t, err)
			got, err := json.Marshal(saved(load(t, jobOf(8, stored(s))), start))
			require.NoError(t, err)
			require.Equal(t, string(want), string(got))
		})
	}
}

func TestEqualLedgersAreEqualBytesWhateverTheOrder(t *testing.T) {
	var want string
	for i := range 20 { // maps are ranged in another order each time
		d := load(t, jobOf(20))
		for n := range 20 {
			rank := (n*7 + i) % 20
			d.StartOver(d.Account("worker"), rank, Uncounted, time.Hour, false, start)
			d.StartScaledDownAnew([]string{"c", "a", "ps", "b"}[rank%4], rank, 0)
			d.Succeed(d.Account("worker"), rank)
		}
		text, err := json.Marshal(saved(d, start))
		require.NoError(t, err)
		if want == "" {
			want = string(text)
		}
		require.Equal(t, want, string(text))
	}
	require.Contains(t, want, `"type":"worker","succeeded":"0-19","replicas":[{"rank":0,`)
}

func TestManyRecordsAreWrittenWithoutDelaysThatAreOver(t *testing.T) {
	list := records("worker")
	for rank := range int32(manyRecords + 1) {
		list.Replicas = append(list.Replicas, v1beta1.RankRecord{Rank: rank, Attempt: 1, NotBefore: stamp(int(rank % 2))})
	}
	d := load(t, jobOf(manyRecords+1, recorded(list)))
	require.Len(t, saved(d, start).Ledger[0].Replicas, manyRecords+1, "half of them still wait")
	require.Equal(t, []v1beta1.RankRecord{{Rank: 0, LastRank: manyRecords, Attempt: 1}}, saved(d, minute(1)).Ledger[0].Replicas)
	wait, replaced := d.Delay(d.Account("worker"), 1, start)
	require.Equal(t, time.Minute, wait, "to save does not change the ledger")
	require.True(t, replaced)
}

// A field that is added to the records and not compared would be lost in jobs with many of them.
func TestNeighboursShareARecordOnlyIfAllOfItIsSaidOfBoth(t *testing.T) {
	whole := v1beta1.RankRecord{Attempt: 1, Restarts: 1, Streak: 1, NotBefore: stamp(9), MinPodAttempt: 1, Exits: 1, ExitsOfPod: "of-pod", StreakDisruptions: 1}
	for i := range reflect.TypeFor[v1beta1.RankRecord]().NumField() {
		field := reflect.TypeFor[v1beta1.RankRecord]().Field(i).Name
		if field == "Rank" || field == "LastRank" {
			continue
		}
		list := records("worker")
		for rank := range int32(manyRecords + 2) {
			r := *whole.DeepCopy()
			require.False(t, reflect.ValueOf(r).Field(i).IsZero(), "%s is not set in this test", field)
			if r.Rank = rank; rank%2 == 1 {
				reflect.ValueOf(&r).Elem().Field(i).SetZero()
			}
			list.Replicas = append(list.Replicas, r)
		}
		require.Equal(t, list, saved(load(t, jobOf(manyRecords+2, recorded(list))), start).Ledger[0], field)
	}
}

func TestALedgerThatCannotBeReadNamesTheField(t *testing.T) {
	tests := map[string]struct {
		in   v1beta1.TaskLedger
		want string
	}{
		"ranks that succeeded":   {v1beta1.TaskLedger{Type: "worker", Succeeded: "3-2"}, `status.ledger[worker].succeeded "3-2": interval "3-2": want its end above its beginning`},
		"ranks that failed":      {v1beta1.TaskLedger{Type: "worker", Failed: "all"}, `status.ledger[worker].failed "all": rank "all": want an integer from 0 to 9999`},
		"a rank below the first": {records("worker", v1beta1.RankRecord{Rank: -1}), "status.ledger[worker].replicas: rank -1 to 0: want ranks from 0 to 9999"},
		"a rank beyond any job":  {records("worker", v1beta1.RankRecord{Rank: 10000}), "status.ledger[worker].replicas: rank 10000 to 0: want ranks from 0 to 9999"},
		"ranks without an end":   {records("worker", v1beta1.RankRecord{Rank: 1, LastRank: 1 << 30}), "status.ledger[worker].replicas: rank 1 to 1073741824: want ranks from 0 to 9999"},
		"a negative end":         {records("worker", v1beta1.RankRecord{Rank: 1, LastRank: -1}), "status.ledger[worker].replicas: rank 1 to -1: want ranks from 0 to 9999"},
		"too few pods": {records("worker", v1beta1.RankRecord{Rank: 1, LastRank: 3, Exits: 1, ExitsOfPod: "abcdefghijkl"}),
			"status.ledger[worker].replicas: rank 1 to 3: exitsOfPod has 12 characters: want 6 for each rank"},
		"a type that has gone": {v1beta1.TaskLedger{Type: "gone", Succeeded: "x"}, `status.ledger[gone].succeeded "x": rank "x": want an integer from 0 to 9999`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			fine := v1beta1.TaskLedger{Type: "ps", Succeeded: "0"}
			for _, rows := range [][]v1beta1.TaskLedger{{tc.in, fine}, {fine, tc.in}} {
				_, err := Load(jobOf(2, recorded(rows...)))
				require.EqualError(t, err, tc.want)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	pause := func(job *v1beta1.GenericJob) {
		job.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	}
	running := v1beta1.GenericJobStatus{Mode: spec.ModeImmediate, StartTime: stamp(0)}
	tests := map[string]struct {
		job     *v1beta1.GenericJob
		settled bool
		workers int // with a rule that names rank 4 of two workers
	}{
		"a job that has not begun is as its spec says":          {jobOf(2), false, 2},
		"a job that runs keeps ranks that its rules name":       {jobOf(2, stored(running)), true, 5},
		"a paused one does not: its rules may be edited":        {jobOf(2, stored(running), pause), true, 2},
		"one that resumes is looked at as if it were new":       {jobOf(2, stored(v1beta1.GenericJobStatus{Mode: spec.ModePaused, StartTime: stamp(0), PauseCount: 1})), false, 2},
		"one that has resumed runs":                             {jobOf(2, stored(v1beta1.GenericJobStatus{Mode: spec.ModeResumed, StartTime: stamp(0), PauseCount: 1})), true, 5},
		"a mode without a start is none that pods are made for": {jobOf(2, stored(v1beta1.GenericJobStatus{Mode: spec.ModeImmediate})), false, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.job.Spec.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(4)}}}
			d := load(t, tc.job)
			require.Equal(t, tc.settled, d.IsSettled())
			require.Equal(t, tc.workers, d.Accounts()[0].N)
		})
	}
}

func TestAccountsFollowTheSpec(t *testing.T) {
	d := load(t, jobOf(2, recorded(v1beta1.TaskLedger{Type: "gone", Succeeded: "0"}, v1beta1.TaskLedger{Type: "worker", Succeeded: "0", Failed: "1"})))
	var descriptions []string
	for _, a := range d.Accounts() {
		descriptions = append(descriptions, fmt.Sprintf("%d %s %d", a.Index, a.Type, a.N))
	}
	require.Equal(t, []string{"0 worker 2", "1 ps 1"}, descriptions)
	require.Equal(t, -1, d.Account("gone").Index)
	require.Zero(t, d.Account("gone").N, "a type that the spec does not have has no ranks")
	require.True(t, d.Account("gone").HasSucceeded(0))
	require.Nil(t, d.Account("never"))
	require.Zero(t, d.Attempt(nil, 0))

	worker := d.Account("worker")
	require.Equal(t, []bool{true, false}, []bool{worker.HasSucceeded(0), worker.HasSucceeded(1)})
	require.Equal(t, []bool{false, true}, []bool{worker.HasFailed(0), worker.HasFailed(1)})
	require.Equal(t, []bool{true, true, false}, []bool{worker.HasFinished(0), worker.HasFinished(1), worker.HasFinished(2)})
}
