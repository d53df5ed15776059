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
