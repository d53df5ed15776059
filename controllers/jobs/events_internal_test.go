package jobs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// A node that goes takes a thousand replicas with it, and each event is a write.
func TestAThousandReplicasAreNoStormOfEvents(t *testing.T) {
	list := []kernel.Event{{Reason: v1beta1.ReasonStarted}}
	for rank := range 1000 {
		list = append(list, kernel.Event{Reason: v1beta1.ReasonDisrupted, Replica: fmt.Sprintf("worker-%d", rank)})
	}
	list = append(list, kernel.Event{Reason: v1beta1.ReasonErrorInPod})
	got := bounded(list)
	require.Len(t, got, 1+maxReplaced+1+1)
	require.Equal(t, v1beta1.ReasonErrorInPod, got[maxReplaced+1].Reason, "others are told")
	require.Equal(t, "990 more replicas were replaced; status.ledger and the operator's log have each.", got[maxReplaced+2].Message)
	require.Equal(t, list[:5], bounded(list[:5]))
}
