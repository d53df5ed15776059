package top_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/top"
)

// A ledger may name more ranks than a machine has memory for.
func TestALedgerThatCannotBeReadHasNoRows(t *testing.T) {
	job := &v1beta1.GenericJob{}
	job.Status.BackoffCount = 1
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker"}}
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, LastRank: math.MaxInt32, Restarts: 1}}}}
	require.Empty(t, top.Replicas(job))
	rows := top.Jobs([]v1beta1.GenericJob{*job})
	require.Len(t, rows, 1)
	require.Empty(t, rows[0].Worst)
	job.Status.Ledger[0].Replicas[0].LastRank = 1
	require.Len(t, top.Replicas(job), 2)
}

// Words of code begin no line that looks like another job's.
func TestARowIsOneLine(t *testing.T) {
	job := v1beta1.GenericJob{}
	job.Status.BackoffCount = 1
	job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: "p", Reason: "a\nb", Frame: "c\n\vd"}}
	table := top.TableOfJobs(top.Jobs([]v1beta1.GenericJob{job}), false, time.Now())
	require.Equal(t, "a b at c d", table[1][5])
}
