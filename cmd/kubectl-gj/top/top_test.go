package top_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/top"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
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

// job returns one of two workers, and of a rendezvous that is auxiliary.
func job(edit func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	job := kerneltest.Job(kerneltest.Type("worker", 2), kerneltest.Type("rendezvous", 1, func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }))
	edit(job)
	return job
}

func workers(records ...v1beta1.RankRecord) []v1beta1.TaskLedger {
	return []v1beta1.TaskLedger{{Type: "worker", Replicas: records}}
}

func texts(table [][]string) (out []string) {
	for _, line := range table {
		out = append(out, strings.Join(line, " | "))
	}
	return out
}

func TestWorstIsWhoWasStartedAgainMostOften(t *testing.T) {
	for name, tc := range map[string]struct {
		status v1beta1.GenericJobStatus
		want   string
	}{
		"more starts, and not more restarts": {v1beta1.GenericJobStatus{BackoffCount: 1,
			Ledger: workers(v1beta1.RankRecord{Rank: 0, Attempt: 1, Restarts: 1}, v1beta1.RankRecord{Rank: 1, Attempt: 9})}, "worker-1 (9)"},
		"several alike":        {v1beta1.GenericJobStatus{JobAttempt: 3, DisruptionCount: 3}, "rendezvous-0 and 2 more (3 each)"},
		"nobody, as is known":  {v1beta1.GenericJobStatus{DisruptionCount: 3}, ""},
		"a streak is no start": {v1beta1.GenericJobStatus{DisruptionCount: 3, Ledger: workers(v1beta1.RankRecord{Rank: 0, Streak: 3})}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			rows := top.Jobs([]v1beta1.GenericJob{*job(func(job *v1beta1.GenericJob) { job.Spec.RestartScope, job.Status = v1beta1.RestartScopeJob, tc.status })})
			require.Len(t, rows, 1)
			require.Equal(t, tc.want, rows[0].Worst)
		})
	}
}

// No count of the job has what an auxiliary replica was started again for.
func TestAJobOfWhichOnlyTheRendezvousWasStartedAgainIsListed(t *testing.T) {
	of := *job(func(job *v1beta1.GenericJob) {
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "rendezvous", Replicas: []v1beta1.RankRecord{{Rank: 0, Attempt: 5}}}}
	})
	rows := top.Jobs([]v1beta1.GenericJob{of})
	require.Equal(t, []string{"NAME | RESTARTS | DISRUPTIONS | EXCEPTED | WORST | LAST FAILURE | AGO", "gj/job | 0 | 0 | 0 | rendezvous-0 (5) | - | -"},
		texts(top.TableOfJobs(rows, false, time.Now())))
	require.Equal(t, []string{"NAME | RESTARTS | WITH JOB | NOT COUNTED | LAST FAILURE | AGO", "rendezvous-0 | 0 | 0 | 5 | - | -"},
		texts(top.TableOfReplicas(top.Replicas(&of), time.Now())))
	of.Status.Ledger = nil
	require.Empty(t, top.Jobs([]v1beta1.GenericJob{of}))
}

// What the status does not tell is no number: a pod that was replaced at the barrier is no start of its own.
func TestStartsOfWhichLittleIsKnown(t *testing.T) {
	of := job(func(job *v1beta1.GenericJob) {
		job.Spec.RestartScope, job.Spec.RestartStrategy = v1beta1.RestartScopeJob, v1beta1.RestartInPlace
		job.Status.JobAttempt, job.Status.InPlace = 2, &v1beta1.InPlaceStatus{StartedJobAttempt: 2, BarrierTime: &metav1.MicroTime{Time: time.Now()}}
		job.Status.Ledger = workers(v1beta1.RankRecord{Rank: 1, Attempt: 1, Restarts: 1})
	})
	require.Equal(t, []string{"NAME | RESTARTS | WITH JOB | NOT COUNTED | MORE | LAST FAILURE | AGO", "worker-1 | 1 | 1 | 0 | perhaps more | - | -",
		"rendezvous-0 | 0 | 2 | 0 | - | - | -", "worker-0 | 0 | 2 | 0 | - | - | -"}, texts(top.TableOfReplicas(top.Replicas(of), time.Now())))
}

func TestNoRowsAreAnEmptyList(t *testing.T) {
	for _, rows := range []any{top.Jobs(nil), top.Replicas(job(func(*v1beta1.GenericJob) {}))} {
		text, err := json.Marshal(rows)
		require.NoError(t, err)
		require.Equal(t, "[]", string(text))
	}
}

// A script adds them up.
func TestCountsOfNothingAreThere(t *testing.T) {
	of := job(func(job *v1beta1.GenericJob) {
		job.Status.BackoffCount, job.Status.Ledger = 1, workers(v1beta1.RankRecord{Rank: 0, Attempt: 1, Restarts: 1})
	})
	for want, rows := range map[string]any{
		`[{"namespace": "ns", "name": "gj/job", "restarts": 1, "disruptions": 0, "excepted": 0, "worst": "worker-0 (1)"}]`:        top.Jobs([]v1beta1.GenericJob{*of}),
		`[{"namespace": "ns", "name": "worker-0", "restarts": 1, "withJob": 0, "uncounted": 0, "more": 0, "perhapsMore": false}]`: top.Replicas(of),
	} {
		text, err := json.Marshal(rows)
		require.NoError(t, err)
		require.JSONEq(t, want, string(text))
	}
}

// A type may end with the name of another.
func TestAFailureIsToldOfItsReplica(t *testing.T) {
	of := kerneltest.Job(kerneltest.Type("worker", 12), kerneltest.Type("gpu-worker", 12))
	for _, replicaType := range []string{"gpu-worker", "worker"} {
		of.Status.Ledger = append(of.Status.Ledger, v1beta1.TaskLedger{Type: replicaType, Replicas: []v1beta1.RankRecord{{Rank: 2, Attempt: 1, Restarts: 1}, {Rank: 11, Attempt: 1, Restarts: 1}}})
	}
	of.Status.Failures = []v1beta1.ReplicaFailure{{Pod: spec.PodName(of, "gpu-worker", 11), Reason: "OOMKilled"}}
	for i, name := range []string{"gpu-worker-2", "gpu-worker-11", "worker-2", "worker-11"} {
		row := top.Replicas(of)[i]
		require.Equal(t, name, row.Name)
		require.Equal(t, name == "gpu-worker-11", row.Last != "", name)
	}
}
