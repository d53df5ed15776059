package calls

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/text"
)

func creates(n int) (actions []kernel.Action) {
	for rank := range n {
		actions = append(actions, kernel.Action{Verb: kernel.CreatePod, Type: "worker", Rank: rank})
	}
	return actions
}

// turn asks for what is planned of so many missing pods until minFailures were refused, as a reconcile does. It returns how many it has asked
// for.
func (d desk) turn(answer error, missing int) (asked int, out Outcome) {
	planned := d.Plans(0)
	actions := creates(min(missing, planned))
	r := d.begun(actions)
	for _, b := range share(r.due(actions), r.batchNow, mostActions, r.batchesWithMore([]string{"worker"})) {
		refused := 0
		for _, a := range b.actions {
			asked++
			d.wait(time.Millisecond)
			if r.note(a, "Pod x", answer) != nil {
				refused++
			}
			if refused == minFailures {
				r.close(b.name)
				break
			}
		}
	}
	return asked, r.outcome(d.job)
}

// TestFewOfManyRefusalsAreRemembered: each time that a refusal is asked about again, one more replica would be asked for.
func TestFewOfManyRefusalsAreRemembered(t *testing.T) {
	const missing = 5000
	d := newDesk()
	_, out := d.turn(quota, missing)
	asked := 0
	for end := d.clock.Now().Add(time.Hour); d.clock.Now().Before(end); {
		d.wait(out.RequeueAfter)
		var n int
		n, out = d.turn(quota, missing)
		asked += n
		require.Positive(t, out.RequeueAfter, "it is asked again")
	}
	most := maxActive + minFailures
	stands := len(d.refused)
	require.LessOrEqual(t, stands, most)
	require.Equal(t, mostActions+stands, d.Plans(0), "what is refused takes no place from what is not")
	require.LessOrEqual(t, asked, most*70, "each of these once a minute, and some at the beginning")

	// As soon as one is accepted, all others are asked for that were not refused before.
	d.wait(out.RequeueAfter)
	n, _ := d.turn(nil, missing)
	require.Positive(t, n)
	n, _ = d.turn(nil, missing)
	require.GreaterOrEqual(t, n, mostActions)
}

// TestABatchThatIsFullIsNotCut: it waits until something of it is asked for again. Else a reconcile would follow at once, and another.
func TestABatchThatIsFullIsNotCut(t *testing.T) {
	d := newDesk()
	r := d.begun(creates(maxActive))
	for _, a := range creates(maxActive) {
		_ = r.note(a, "Pod x", quota)
	}
	name := batchOf(creates(1)[0])
	r = d.begun(creates(200))
	require.Empty(t, r.due(creates(200)))
	require.False(t, r.batchesWithMore([]string{"worker"})[name])
	_ = r.note(creates(1)[0], "", nil)
	r = d.begun(creates(200))
	require.Len(t, r.due(creates(200)), 200-(maxActive-1))
	require.True(t, r.batchesWithMore([]string{"worker"})[name])
}

// What was accepted before the edit kept the batch open: one more replica was asked for with each that was refused.
func TestABatchThatWasOpenBeforeAnEditIsFullAfterwards(t *testing.T) {
	d := newDesk()
	r := d.begun(creates(2))
	_ = r.note(creates(1)[0], "", nil)
	_ = r.note(creates(2)[1], "Pod x", quota)
	d.job.Generation++
	r = d.begun(creates(maxActive))
	for _, a := range creates(maxActive) {
		_ = r.note(a, "Pod x", quota)
	}
	r = d.begun(creates(200))
	require.Empty(t, r.due(creates(200)))
}

// A scale is an edit: what the quota refused of the larger job says nothing of the smaller one, which is asked for at once.
func TestAJobThatIsScaledWhileManyRefusalsStandIsAskedForAtOnce(t *testing.T) {
	for name, replicas := range map[string]int{"down": 20, "up": 8000} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			r := d.begun(creates(maxActive))
			for _, a := range creates(maxActive) {
				_ = r.note(a, "Pod x", quota)
			}
			d.job.Generation++
			asked, _ := d.turn(quota, replicas)
			require.Equal(t, minFailures, asked)
			require.Len(t, d.refused, minFailures, "nothing is left of the refusals before")
			d.wait(time.Minute)
			asked, out := d.turn(nil, replicas)
			require.Equal(t, min(replicas, mostActions), asked)
			require.Zero(t, out.RequeueAfter, "nothing is waited for")
			require.Empty(t, d.refused)
		})
	}
}

func TestAnAnswerOfAMegabyteIsNotRemembered(t *testing.T) {
	d := newDesk()
	_, out := d.reconcile(Refuse("", strings.Repeat("x", 1<<20)), create)
	require.Len(t, out.Failed[0].Message, text.Max)
}
