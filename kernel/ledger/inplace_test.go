package ledger

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func inPlace(job *v1beta1.GenericJob) { job.Spec.RestartStrategy = v1beta1.RestartInPlace }

func together(job *v1beta1.GenericJob) { job.Spec.RestartScope = v1beta1.RestartScopeJob }

func uid(rank int) types.UID {
	return types.UID(fmt.Sprintf("8b7a8f2c-7b1d-4a52-9c5e-%012d", rank))
}

func TestTenThousandReplicasThatFailInTheirPodsFitIntoAStatus(t *testing.T) {
	const n = 10000
	for name, test := range map[string]struct {
		restarts func(rank int) int
		most     int // bytes
	}{
		"each once":         {func(int) int { return 1 }, 100_000},
		"each in their way": {func(rank int) int { return 1 + rank%2 }, maxLedger},
	} {
		d := load(t, jobOf(n, inPlace, own(9, "")))
		a := d.Account("worker")
		for rank := range n {
			for i := range test.restarts(rank) {
				d.NoteExits(a, rank, uid(rank), i+1)
				d.StartOver(a, rank, Restart, time.Hour, true, start)
			}
		}
		require.Nil(t, d.CloseIfFull(start), name)
		status := saved(d, start)
		raw, err := json.Marshal(status.Ledger)
		require.NoError(t, err)
		t.Logf("%d replicas that failed in their pods, %s: %d bytes", n, name, len(raw))
		require.Less(t, len(raw), test.most, name)

		again := load(t, jobOf(n, inPlace, stored(status)))
		require.Equal(t, status.Ledger, saved(again, start).Ledger, name)
		for _, rank := range []int{0, 1, 4711, n - 1} {
			require.Equal(t, test.restarts(rank), again.Account("worker").Exits(rank, uid(rank)), name)
			require.Zero(t, again.Account("worker").Exits(rank, uid(rank+1)), "of another pod")
		}
	}
}

func TestHashesOfPodsDiffer(t *testing.T) {
	seen := map[string]bool{}
	for rank := range 10000 {
		seen[shortHash(uid(rank))] = true
	}
	require.Len(t, seen, 10000)
}

func TestDisruptionsDoNotUseUpTheLimitInPlace(t *testing.T) {
	limit := func(job *v1beta1.GenericJob) { job.Spec.InPlaceLimit = new(int32(2)) }
	type end struct {
		as    Count
		lived time.Duration
	}
	drain, failure, steady := end{Disruption, time.Minute}, end{Restart, time.Minute}, end{Restart, time.Hour}
	for name, test := range map[string]struct {
		ends           []end
		born, replaced bool // the pod that fails last, alone or all, is replaced
	}{
		"drains alone":                {[]end{drain, drain, drain, drain, drain}, false, false},
		"one failure after drains":    {[]end{drain, drain, drain, drain, failure}, false, false},
		"failures between drains":     {[]end{failure, drain, failure, drain, failure}, true, false},
		"... and one more":            {[]end{failure, drain, failure, failure, drain, failure}, true, true},
		"a drain after failures":      {[]end{failure, failure, drain}, false, false},
		"a steady life between them":  {[]end{failure, failure, steady, drain, failure}, false, false},
		"a steady life, and too many": {[]end{drain, steady, failure, failure}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(3, inPlace, together, limit, shared(99)))
			for i, e := range test.ends { // the members end in turns
				d.StartOver(d.Account("worker"), i%3, e.as, e.lived, true, start)
			}
			born := false
			for rank := range 3 {
				born = born || d.Account("worker").record(rank).MinPodAttempt > 0
			}
			require.Equal(t, []bool{test.born, test.replaced}, []bool{born, d.inPlace.MinPodJobAttempt > 0})

			alone := load(t, jobOf(3, inPlace, limit, shared(99)))
			before := int32(0)
			for _, e := range test.ends {
				before = alone.Account("worker").record(0).MinPodAttempt
				alone.StartOver(alone.Account("worker"), 0, e.as, e.lived, e.as == Restart, start)
			}
			last := test.ends[len(test.ends)-1]
			require.Equal(t, last.as == Disruption || test.born, alone.Account("worker").record(0).MinPodAttempt > before, "alone: a disruption is never in place")
		})
	}
}

func TestWhenReplicasWentOnTogether(t *testing.T) {
	d := load(t, jobOf(2, inPlace, together, shared(99)))
	a := d.Account("worker")
	require.Zero(t, d.BegunTogether(a, start), "all are in their first start")
	d.StartOver(a, 0, Restart, time.Minute, true, start)
	require.Equal(t, minute(5), d.BegunTogether(a, minute(5)), "they wait for each other")
	d.OpenBarrier(minute(5))
	require.Equal(t, minute(5), d.BegunTogether(a, minute(7)))
	require.Equal(t, minute(4), d.BegunTogether(a, minute(4)), "the clock was set back")
}
