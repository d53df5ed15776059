package jobs_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestLossesAreGroupedByWhatTheyCameOf(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	f := &jobs.Family{GenericJob: &v1beta1.GenericJob{}}
	require.Empty(t, f.Losses(noon))
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)) }
	fails := v1beta1.HistoryEntry{
		Kind: v1beta1.HistoryFailure, Begin: at(0), Seconds: 60, Pod: "job-worker-1", Node: "a", ExitCode: new(int32(137)), Cause: v1beta1.CauseOutOfMemory, Message: "OOMKilled",
	}
	again, other := fails, fails
	again.Begin, again.Seconds = at(5), 30
	other.ExitCode, other.Cause, other.Message, other.Probable, other.Node = new(int32(1)), v1beta1.CauseUnknown, "Connection closed by peer", true, ""
	certain := other
	certain.Begin, certain.Probable = at(7), false
	h := &v1beta1.History{
		Entries: []v1beta1.HistoryEntry{
			{Kind: v1beta1.HistoryStart, Begin: at(-5)}, fails, again, other, {Kind: v1beta1.HistoryDisruption, Begin: at(9), Message: "its queue has taken the quota back"},
		},
		Earlier: []v1beta1.HistorySum{
			{Kind: v1beta1.HistoryFailure, Count: 9, Seconds: 3600}, {Kind: v1beta1.HistoryHang, Seconds: 10}, {Kind: v1beta1.HistoryNodeLost, Count: 1}, {Kind: v1beta1.HistoryPause, Count: 2},
		},
	}
	f.GenericJob.Status.History = h
	require.Equal(t, []string{
		"9 failures, 1 h lost before that",
		"hangs, 10 s lost before that",
		"1 lost node, 0 s lost before that",
		"2 failures, 1 min 30 s lost, since 2026-01-01 12:00:00, Pod[job-worker-1] on node a: exit code 137 (SIGKILL), OutOfMemory, OOMKilled",
		"1 failure, 1 min lost, since 2026-01-01 12:00:00, probably Pod[job-worker-1]: exit code 1, Connection closed by peer",
		"1 disruption, 0 s lost, since 2026-01-01 12:09:00: its queue has taken the quota back",
	}, f.Losses(noon))

	h.Entries = slices.Insert(h.Entries, 4, certain)
	require.Contains(t, f.Losses(noon), "2 failures, 2 min lost, since 2026-01-01 12:00:00, Pod[job-worker-1]: exit code 1, Connection closed by peer", "one of them is certain")

	h.Entries[5].Kind = v1beta1.HistoryNodeLost
	f.GenericJob.Status.Time = &v1beta1.JobTime{Open: &v1beta1.OpenTime{Cause: v1beta1.TimeLostToNode, Since: at(9)}}
	lines := f.Losses(noon.Add(12 * time.Minute))
	require.Equal(t, "1 lost node, 3 min lost, since 2026-01-01 12:09:00: its queue has taken the quota back", lines[len(lines)-1], "it goes on")
	lines = f.Losses(noon)
	require.Equal(t, "1 lost node, 0 s lost, since 2026-01-01 12:09:00: its queue has taken the quota back", lines[len(lines)-1], "this clock is behind")
}
