package ledger

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// manyAccounts are accounts of so many types, in each of which something is recorded of all 10,000 ranks.
func manyAccounts(types int, of v1beta1.TaskLedger) (list []v1beta1.TaskLedger) {
	for i := range types {
		of.Type = fmt.Sprint("t", i)
		list = append(list, of)
	}
	return list
}

func TestMoreRanksOverAllTypesThanCanBeReadAreNotRead(t *testing.T) {
	all := []v1beta1.RankRecord{{Rank: 0, LastRank: maxRank, Attempt: 1}}
	for name, of := range map[string]v1beta1.TaskLedger{
		"records":   {Replicas: all},
		"succeeded": {Succeeded: "0-9999"},
		"failed":    {Failed: "0-4999,5001-9999", Succeeded: "5000"},
	} {
		t.Run(name, func(t *testing.T) {
			list := manyAccounts(20, of)
			require.Equal(t, maxNamed, load(t, jobOf(1, recorded(list...))).countNamed())

			job := jobOf(1, recorded(append(list, v1beta1.TaskLedger{Type: "worker", Failed: "7"})...))
			d, err := Load(job)
			require.EqualError(t, err, "status.ledger names 200001 ranks in succeeded, failed and replicas, and 200000 are allowed over all types")
			require.Zero(t, d.countNamed(), "none is read")
			require.Zero(t, Weight(job))
		})
	}
}

func TestNothingIsReadBehindWhatCannotBeRead(t *testing.T) {
	d, err := Load(jobOf(1, recorded(v1beta1.TaskLedger{Type: "a", Succeeded: "3"}, v1beta1.TaskLedger{Type: "b", Failed: "x"}, v1beta1.TaskLedger{Type: "c", Succeeded: "0-9999"})))
	require.ErrorContains(t, err, `status.ledger[b].failed "x"`)
	require.Equal(t, 1, d.countNamed())
}

func TestRecordsAscend(t *testing.T) {
	for name, tc := range map[string]struct {
		records []v1beta1.RankRecord
		problem string
	}{
		"in the order of ranks": {[]v1beta1.RankRecord{{Rank: 0}, {Rank: 1, LastRank: 4}, {Rank: 5}}, ""},
		"the same rank twice":   {[]v1beta1.RankRecord{{Rank: 3}, {Rank: 3}}, "rank 3 after rank 3: want ascending ranks, each in one record"},
		"a rank of the last":    {[]v1beta1.RankRecord{{Rank: 1, LastRank: 4}, {Rank: 4, LastRank: 9}}, "rank 4 after rank 4: want ascending ranks, each in one record"},
		"backwards":             {[]v1beta1.RankRecord{{Rank: 9}, {Rank: 2}}, "rank 2 after rank 9: want ascending ranks, each in one record"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(jobOf(9, recorded(records("worker", tc.records...))))
			if tc.problem == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, "status.ledger[worker].replicas: "+tc.problem)
		})
	}
}

// What CloseIfFull lets through can be read back, even after each replica has got a record and an outcome more.
func TestALedgerOfTooManyRanksIsClosedBeforeItCannotBeRead(t *testing.T) {
	job := jobOf(1, recorded(manyAccounts(fullAt/spec.MaxReplicas, v1beta1.TaskLedger{Replicas: []v1beta1.RankRecord{{Rank: 0, LastRank: maxRank, Restarts: 1}}})...))
	d := load(t, job)
	require.Nil(t, d.CloseIfFull(start))
	for i := range 8 { // 40,000 replicas, of which some would be others'
		a := d.account(fmt.Sprint("more", i))
		for rank := range 5000 {
			d.startAnew(a, rank)
			d.Succeed(a, rank)
		}
	}
	d = load(t, jobOf(1, stored(saved(d, start))))
	require.Equal(t, maxNamed, d.countNamed())
	require.Equal(t, &Full{fullAt + 40_000, maxNamed, fullAt, true}, d.CloseIfFull(start))
	require.Equal(t, 40_000, d.countNamed(), "outcomes stay")
	require.EqualValues(t, spec.MaxReplicas, d.Account("t0").Restarts(), "the sums stay")
}

// Few ranks of a job that runs are expanded: its outcomes are not.
func TestTheWeightOfALedger(t *testing.T) {
	weigh := func(list ...v1beta1.TaskLedger) int { return Weight(jobOf(5000, recorded(list...))) }
	one := weigh(records("worker", v1beta1.RankRecord{Rank: 7}))
	require.Zero(t, weigh())
	require.Equal(t, perAccount, weigh(v1beta1.TaskLedger{Type: "worker", Succeeded: "0-4998", Failed: "4999"}))
	require.Equal(t, one, weigh(v1beta1.TaskLedger{Type: "worker", Succeeded: "0-5000"}), "one was scaled away")
	require.Equal(t, one, weigh(v1beta1.TaskLedger{Type: "gone", Failed: "0"}))
	require.Equal(t, perAccount+10*perRecord, weigh(records("worker", v1beta1.RankRecord{Rank: 0, LastRank: 9})))
	require.Equal(t, 2*one, weigh(records("worker", v1beta1.RankRecord{Rank: 1}), records("gone", v1beta1.RankRecord{Rank: 1, LastRank: 0})))
}
