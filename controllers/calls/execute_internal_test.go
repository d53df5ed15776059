package calls

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// alone is the pace of a batch that has all calls and all time to itself.
func alone() pace { return pace{atOnce: (&Limiter{}).atOnce, turnIsOver: func() bool { return false }} }

// peak makes calls and returns how many were under way at once at most, and which were made.
func peak(t *testing.T, n, first int, f func(int) error) (int, []bool, stop) {
	t.Helper()
	var now, most atomic.Int32
	made := make([]bool, n)
	why, err := alone().run(t.Context(), first, n, func(i int) error {
		if at := now.Add(1); at > most.Load() {
			most.Store(at) // a lost race only makes it smaller
		}
		defer now.Add(-1)
		made[i] = true
		return f(i)
	})
	require.NoError(t, err)
	return int(most.Load()), made, why
}

func TestSoManyCallsBegin(t *testing.T) {
	r, most := batchRun{pace: alone(), total: 1000, limit: 1}, 0
	for {
		for r.begins(t.Context()) {
			r.next, r.underway = r.next+1, r.underway+1
		}
		if most = max(most, r.underway); r.underway == 0 {
			break
		}
		r.ended(nil)
	}
	require.Equal(t, r.total, r.next)
	require.Equal(t, parallel, most)
}

// The last calls wait for one another, once the first have made room for all that may be under way. With fewer at once they never meet.
func TestCallsAreMadeOnceEachAndManyAtOnce(t *testing.T) {
	const n, meet = 1000, 1000 - parallel
	var calls, waiting atomic.Int32
	full := make(chan struct{})
	_, made, why := peak(t, n, 1, func(i int) error {
		calls.Add(1)
		if i < meet {
			return nil
		}
		if waiting.Add(1) == parallel {
			close(full)
		}
		select {
		case <-full:
			return nil
		case <-time.After(10 * time.Minute):
			return errors.New("the others do not come")
		}
	})
	require.Equal(t, atEnd, why)
	require.False(t, slices.Contains(made, false))
	require.EqualValues(t, n, calls.Load())
}

func TestWhatIsRefusedIsNotAskedForFiveThousandTimes(t *testing.T) {
	no := errors.New("refused")
	at, made, why := peak(t, 5000, 1, func(int) error { return no })
	require.Equal(t, refused, why)
	require.Equal(t, 1, at, "what fails makes no room")
	require.Equal(t, minFailures, slices.Index(made, false))
	require.False(t, slices.Contains(made[minFailures:], true))

	_, made, why = peak(t, 5000, 1, func(i int) error {
		if i >= 4 {
			return no
		}
		return nil
	})
	require.Equal(t, refused, why)
	require.False(t, slices.Contains(made[4+5+5:], true), "four calls have made room for five, and outweigh five")
}

func TestOneThatIsRefusedHoldsUpNoOther(t *testing.T) {
	for _, bad := range []int{0, 1, 50, 99} {
		_, made, why := peak(t, 100, 1, func(i int) error {
			if i == bad {
				return errors.New("refused")
			}
			return nil
		})
		require.Equal(t, atEnd, why)
		require.False(t, slices.Contains(made, false))
	}
}

func TestABatchThatIsLateHasBegunAtLeast(t *testing.T) {
	p := alone()
	p.turnIsOver = func() bool { return true }
	calls := 0
	why, err := p.run(t.Context(), 1, 5, func(int) error { calls++; return nil })
	require.NoError(t, err)
	require.Equal(t, turnOver, why)
	require.Equal(t, 1, calls)
}

func TestNoCalls(t *testing.T) {
	why, err := alone().run(t.Context(), 1, 0, func(int) error { return errors.New("called") })
	require.NoError(t, err)
	require.Equal(t, atEnd, why)
}

func TestBatchesShareTheCalls(t *testing.T) {
	c := &Limiter{}
	require.Equal(t, parallel, c.atOnce())
	for n := 1; n <= 200; n++ {
		c.enter()
		require.GreaterOrEqual(t, c.atOnce(), 2)
		if n > 1 {
			require.LessOrEqual(t, c.atOnce()*n, max(sharedParallel, 2*n))
		}
	}
	for range 200 {
		c.leave()
	}
	require.Equal(t, parallel, c.atOnce())
}

func TestAReconcileTakesFromEachBatchInTurn(t *testing.T) {
	var actions []kernel.Action
	for rank := range 1000 {
		actions = append(actions, kernel.Action{Verb: kernel.CreatePod, Type: "worker", Rank: rank})
	}
	actions = append(actions, kernel.Action{Verb: kernel.CreatePod, Type: "ps"}, kernel.Action{Verb: kernel.DeleteJob})
	batches := share(actions, batchOf, 200, nil)
	require.Len(t, batches, 3)
	require.Len(t, batches[0].actions, 198)
	require.Equal(t, []bool{true, false, false}, []bool{batches[0].cut, batches[1].cut, batches[2].cut})
	require.Equal(t, []int{1, 1}, []int{len(batches[1].actions), len(batches[2].actions)})
	require.Len(t, share(actions[:3], batchOf, 200, nil)[0].actions, 3)
	require.True(t, share(actions[:3], batchOf, 200, map[string]bool{batchOf(actions[0]): true})[0].cut, "more are missing than were planned")
}

// TestWhatWaitsForARefusedServiceTakesNoTurnFromIt: the pods, refused first, took the only turn of each reconcile, and waited for the Service.
func TestWhatWaitsForARefusedServiceTakesNoTurnFromIt(t *testing.T) {
	n := newNamespace()
	n.refused = apierrors.NewForbidden(corev1.Resource("services"), "job", errors.New("exceeded quota"))
	job := n.start("job", 1)
	job.MostActions = 1
	pod := creates(1)[0]
	service := kernel.Action{Verb: kernel.CreateService, Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "job", Labels: map[string]string{v1beta1.LabelJobName: "job"}}}}
	execute := func(actions ...kernel.Action) Outcome {
		out, err := job.Execute(t.Context(), actions)
		require.NoError(t, err)
		n.clock.SetTime(n.clock.Now().Add(2 * maxRetryWait))
		return out
	}
	execute(pod)
	for range 3 {
		execute(pod, service) // the Service is refused, and then both are due
		asked := len(n.asked["job"])
		require.Greater(t, execute(pod, service).Wake(), time.Millisecond, "nothing follows at once")
		require.Len(t, n.asked["job"], asked+1)
	}
	n.refused = nil
	execute(pod, service)
	execute(pod)
	require.Equal(t, 1, job.made())
}
