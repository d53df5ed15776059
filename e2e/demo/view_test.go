package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// story is a life of the job, as its status tells it.
func story() []*v1beta1.GenericJob {
	accepted := job(v1beta1.JobPending, "0/4", "Creating", "Creating", "Creating", "Creating")
	running := job(v1beta1.JobRunning, "4/4", "Running", "Running", "Running", "Running")
	failed := job(v1beta1.JobRunning, "3/4", "Running", "Running", "Failed", "Running")
	code := int32(1)
	failed.Status.Tasks[1].Replicas[1].Containers = []v1beta1.ContainerStatus{{Name: "trainer", ExitCode: &code}}
	failed.Status.Conditions = []v1beta1.JobCondition{
		{Type: v1beta1.ConditionReplicaFailure, Status: "True", Message: "demo-0-worker-1\nexited with code 1"},
	}
	recreated := restarted(job(v1beta1.JobRunning, "3/4", "Running", "Running", "Creating", "Running"))
	again := restarted(job(v1beta1.JobRunning, "4/4", "Running", "Running", "Running", "Running"))
	succeeded := restarted(job(v1beta1.JobSucceeded, "0/0", "Succeeded", "Succeeded", "Succeeded", "Succeeded"))
	return []*v1beta1.GenericJob{{}, accepted, running, failed, recreated, again, succeeded}
}

func job(phase v1beta1.JobPhase, running string, master v1beta1.ReplicaPhase, workers ...v1beta1.ReplicaPhase,
) *v1beta1.GenericJob {
	j := &v1beta1.GenericJob{}
	j.Namespace, j.Name = namespace, jobName
	j.Status = v1beta1.GenericJobStatus{Phase: phase, Running: running, Tasks: []v1beta1.TaskStatus{
		{Type: masterType, Replicas: []v1beta1.ReplicaStatus{{Name: "demo-0-master-0", Phase: master}}},
		{Type: workerType},
	}}
	for rank, worker := range workers {
		name := "demo-0-worker-" + string(rune('0'+rank))
		j.Status.Tasks[1].Replicas = append(j.Status.Tasks[1].Replicas, v1beta1.ReplicaStatus{Name: name, Phase: worker})
	}
	return j
}

func restarted(j *v1beta1.GenericJob) *v1beta1.GenericJob {
	j.Status.BackoffCount = 1
	j.Status.Tasks[1].RestartCount = 1
	j.Status.Ledger = []v1beta1.TaskLedger{
		{Type: workerType, Replicas: []v1beta1.RankRecord{{Rank: victim, Attempt: 1, Restarts: 1}}},
	}
	return j
}

func TestTable(t *testing.T) {
	t.Parallel()
	got := snapshotOf(story()[3], "step 60 loss 0.16420", "crashes worker/1").table()
	require.Equal(t, []string{
		"GenericJob demo: Running  running 3/4  restarts 0  disruptions 0",
		"  REPLICA     POD              PHASE                   RESTARTS",
		"  master/0    demo-0-master-0  Running                 0",
		"  worker/0    demo-0-worker-0  Running                 0",
		"  worker/1    demo-0-worker-1  Failed (exit code 1)    0",
		"  worker/2    demo-0-worker-2  Running                 0",
		"  training    step 60 loss 0.16420",
		"  demo        crashes worker/1",
		"  message     demo-0-worker-1 exited with code 1",
	}, got)
}

func TestLinesTellWhatChangedAndNothingElse(t *testing.T) {
	t.Parallel()
	var got []string
	var last snapshot
	for _, j := range story() {
		// Twice: a watch repeats itself.
		for range 2 {
			next := snapshotOf(j, "", "")
			got = append(got, next.changesSince(last)...)
			last = next
		}
	}
	require.Equal(t, []string{
		"  job         (not seen by the operator yet)  running -  restarts 0  disruptions 0",
		"  job         Pending  running 0/4  restarts 0  disruptions 0",
		"  master/0    Creating",
		"  worker/0    Creating",
		"  worker/1    Creating",
		"  worker/2    Creating",
		"  job         Running  running 4/4  restarts 0  disruptions 0",
		"  master/0    Creating -> Running",
		"  worker/0    Creating -> Running",
		"  worker/1    Creating -> Running",
		"  worker/2    Creating -> Running",
		"  job         Running  running 3/4  restarts 0  disruptions 0",
		"  worker/1    Running -> Failed (exit code 1)",
		"  message     demo-0-worker-1 exited with code 1",
		"  job         Running  running 3/4  restarts 1  disruptions 0",
		"  worker/1    Failed (exit code 1) -> Creating  (restarts 1)",
		"  job         Running  running 4/4  restarts 1  disruptions 0",
		"  worker/1    Creating -> Running  (restarts 1)",
		"  job         Succeeded  running 0/0  restarts 1  disruptions 0",
		"  master/0    Running -> Succeeded",
		"  worker/0    Running -> Succeeded",
		"  worker/1    Running -> Succeeded  (restarts 1)",
		"  worker/2    Running -> Succeeded",
	}, got)
}

func TestTerminalIsDrawnInPlace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &screen{out: &out, terminal: true, width: func() int { return 20 }, started: time.Now()}
	s.show(snapshotOf(story()[2], "", ""))
	require.NotContains(t, out.String(), "A\x1b[2K", "there is nothing to go back over yet")
	out.Reset()
	s.show(snapshotOf(story()[3], "", ""))
	require.True(t, strings.HasPrefix(out.String(), "\x1b[6A\x1b[2KGenericJob demo: Run\n"), "%q", out.String())
	require.Equal(t, 7, strings.Count(out.String(), "\n"))
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	states := story()
	disrupted := job(v1beta1.JobSucceeded, "0/0", "Succeeded")
	disrupted.Status.DisruptionCount = 1
	failed := restarted(job(v1beta1.JobFailed, "0/0", "Failed"))
	failed.Status.Conditions = []v1beta1.JobCondition{
		{Type: v1beta1.ConditionFailed, Status: "True", Message: "demo-0-master-0 exited with code 1"},
	}
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		want []string
	}{
		"as promised":                    {job: states[len(states)-1]},
		"the master failed":              {job: failed, want: []string{"phase is Failed: demo-0-master-0 exited"}},
		"a disruption is not a restart":  {job: disrupted, want: []string{"backoffCount is 0", "ended 1 of its pods"}},
		"no worker was made to crash":    {job: job(v1beta1.JobSucceeded, "0/0", "Succeeded"), want: []string{"workers is 0"}},
		"the operator never wrote tasks": {job: &v1beta1.GenericJob{}, want: []string{"restartCount"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := verdict(tc.job)
			if tc.want == nil {
				require.NoError(t, err)
			}
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
