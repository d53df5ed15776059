package ledger_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
)

// A failure may be taken back as long as no other is noted. Between the two other nodes may be lost, and turn pods away.
func TestWhatHappenedBeforeAFailureIsKnownUntilThatIsTakenBack(t *testing.T) {
	a := newAccount(t)
	a.job.Spec.AvoidNodes = &v1beta1.AvoidNodes{}
	a.write(0, func(d ledger.Draft) {
		d.AddNodeFailure(ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidRejected, Message: "no device"}, at(0))
	})
	failure := ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidFailed, Message: "exit code 1"}
	a.write(10, func(d ledger.Draft) { d.AddNodeFailure(failure, at(10)) })
	a.write(20, func(d ledger.Draft) {
		d.AddLostNode(ledger.NodeFailure{Node: "b", Reason: v1beta1.AvoidLost}, at(5), at(20))
		for i := range 20 {
			d.AddLostNode(ledger.NodeFailure{Node: fmt.Sprint("c", i), Reason: v1beta1.AvoidLost}, at(-1), at(20)) // too many to be kept
		}
		d.AddNodeFailure(ledger.NodeFailure{Node: "z", Reason: v1beta1.AvoidRejected}, at(20))
	})
	a.write(21, func(d ledger.Draft) {
		d.RemoveNodeFailure(ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidFailed, Message: "it was disrupted"}) // that has never counted
		d.RemoveNodeFailure(failure)
		d.AddNodeFailure(ledger.NodeFailure{Node: "b", Reason: v1beta1.AvoidFailed}, at(21))
	})
	for _, n := range a.job.Status.NodeFailures {
		if n.Node == "a" {
			require.Equal(t, v1beta1.AvoidRejected, n.Reason)
			require.Equal(t, "no device", n.Message)
			require.Len(t, n.Times, 1)
			return
		}
	}
	t.Fatal("what happened before counts")
}

// A failure that was enough by itself stays enough for its time, though the operator hears of an earlier one of that kind later.
func TestTheLastFailureThatWasEnoughDecides(t *testing.T) {
	for name, tc := range map[string]struct{ first, second, want float64 }{
		"heard of in order": {10, 20, 20},
		"the other way":     {20, 10, 20},
		"in one second":     {20, 20, 20},
	} {
		a := newAccount(t)
		a.job.Spec.AvoidNodes = &v1beta1.AvoidNodes{}
		for _, second := range []float64{tc.first, tc.second} {
			a.write(30, func(d ledger.Draft) {
				f := ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidFailed, Second: at(second).Unix()}
				d.AddNodeFailure(f, at(30))
				d.AvoidAtOnce(f)
			})
		}
		require.Equal(t, at(tc.want).Unix(), a.job.Status.NodeFailures[0].Enough.Unix(), name)
	}
}

// A failure that was enough by itself is taken back. The node has rejected a pod since, or an earlier version of the operator has dated the failure.
func TestAFailureIsFoundAgainByItsSecond(t *testing.T) {
	for name, tc := range map[string]struct {
		second, asked int64 // of the failure, when it is noted and when it is taken back
		rejects       bool
		left          int
		enough        bool
	}{
		"it is told last":                      {5, 5, false, 0, false},
		"a rejection is told":                  {5, 5, true, 1, false},
		"an earlier version has dated it":      {0, 5, false, 0, false},
		"... and a rejection is told":          {0, 5, true, 2, true}, // nothing shows which one it is
		"that failure was never counted":       {5, 7, true, 2, true},
		"its second is not known":              {0, 0, false, 0, false},
		"its second is not known, a rejection": {0, 0, true, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAccount(t)
			a.job.Spec.AvoidNodes = &v1beta1.AvoidNodes{}
			failure := func(second int64) ledger.NodeFailure {
				f := ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidFailed, Message: "exit code 1"}
				if second > 0 {
					f.Second = at(float64(second)).Unix()
				}
				return f
			}
			a.write(10, func(d ledger.Draft) {
				d.AddNodeFailure(failure(tc.second), at(10))
				d.AvoidAtOnce(failure(tc.second))
			})
			if tc.rejects {
				a.write(20, func(d ledger.Draft) {
					d.AddNodeFailure(ledger.NodeFailure{Node: "a", Reason: v1beta1.AvoidRejected, Message: "no device"}, at(20))
				})
			}
			a.write(30, func(d ledger.Draft) { d.RemoveNodeFailure(failure(tc.asked)) })
			if tc.left == 0 {
				require.Empty(t, a.job.Status.NodeFailures)
				return
			}
			n := a.job.Status.NodeFailures[0]
			require.Len(t, n.Times, tc.left)
			require.Equal(t, tc.enough, n.Enough != nil)
			require.Equal(t, v1beta1.AvoidRejected, n.Reason)
		})
	}
}
