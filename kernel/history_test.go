package kernel_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func lastEntry(job *v1beta1.GenericJob) v1beta1.HistoryEntry {
	list := job.Status.History.Entries
	return list[len(list)-1]
}

// trains is a job whose replicas run from 20 s on.
func trains(t *testing.T, options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	job := look(t, fresh(options...), 3*second)
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second), onNode("a")), kt.Pod(job, "worker", 1, startedAt(20*second), onNode("b"))}
	return look(t, job, 25*second, both...), both
}

func TestTheHistorySaysWhatALossCameOf(t *testing.T) {
	job, both := trains(t)
	require.Equal(t, v1beta1.HistoryStart, lastEntry(job).Kind)
	require.EqualValues(t, 20, lastEntry(job).Seconds)
	d := plan(t, job, kt.At(24*60*minute), both...)
	require.Equal(t, job.Status, d.Status, "a day in which nothing happens is written")

	fails := kt.Pod(job, "worker", 1, failedAt(20*second, 60*minute), onNode("b"), func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State.Terminated.Message = "step 7\nCUDA out of memory"
	})
	job = look(t, job, 70*minute, both[0], fails)
	e := lastEntry(job)
	require.Equal(t, v1beta1.HistoryFailure, e.Kind)
	require.True(t, e.Begin.Equal(&job.Status.Time.Open.Since), "it began when the code ended")
	require.Nil(t, e.End)
	require.Equal(t, fails.Name, e.Pod)
	require.Equal(t, "b", e.Node)
	require.EqualValues(t, 1, *e.ExitCode)
	require.Contains(t, e.Message, "CUDA out of memory")
	require.NotEmpty(t, e.Cause)
	require.EqualValues(t, 1, e.Restarts)

	job = look(t, job, 73*minute, both[0], kt.Pod(job, "worker", 1, startedAt(72*minute)))
	require.EqualValues(t, 12*60, lastEntry(job).Seconds)
	require.NotNil(t, lastEntry(job).End)

	job = look(t, job, 80*minute, both[0], kt.Pod(job, "worker", 1, startedAt(72*minute), kt.FailedWithout("NodeShutdown"), onNode("b")))
	e = lastEntry(job)
	require.Equal(t, v1beta1.HistoryDisruption, e.Kind)
	require.Equal(t, "b", e.Node)
	require.Contains(t, e.Message, "was disrupted")
	require.Nil(t, e.ExitCode)
}

// Whoever is told first fails because of another, of which the kubelet reports later. The history tells of that one then.
func TestTheHistoryTellsOfTheFailureThatOthersFollowedFrom(t *testing.T) {
	job, both := trains(t, kt.JobScope)
	says := func(rank int, words string) *corev1.Pod {
		return kt.Pod(job, "worker", rank, failedAt(20*second, 60*minute), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Terminated.Message = words
		})
	}
	follows := says(1, "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411")
	cause := says(0, "ValueError: loss is nan")
	job = look(t, job, 60*minute+10*second, both[0], follows)
	require.Equal(t, follows.Name, lastEntry(job).Pod)
	require.True(t, lastEntry(job).Probable)
	job = look(t, job, 60*minute+12*second, cause, follows)
	require.Equal(t, job.Status.FirstFailure.Pod, lastEntry(job).Pod)
	require.Equal(t, cause.Name, lastEntry(job).Pod)
	require.False(t, lastEntry(job).Probable)
	require.EqualValues(t, 1, lastEntry(job).Restarts)
}

// TestTheHistoryOfAJobOfThousandsIsSmall: each of 5,000 replicas has failed again and again, with long words on nodes with long names.
func TestTheHistoryOfAJobOfThousandsIsSmall(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 5000, kt.Policy(v1beta1.RestartOnFailure, 2000000000)), kt.JobScope, kt.Begun)
	now := kt.Start
	for round := range 12 {
		pods := kt.Pods(job, "worker", 5000, kt.ExitedAt(1, now), func(p *corev1.Pod) {
			p.Labels[v1beta1.LabelAttempt] = fmt.Sprint(round)
			p.Spec.NodeName = strings.Repeat("n", 63)
			p.Status.ContainerStatuses[0].State.Terminated.Message = strings.Repeat("<words> ", 99)
		})
		job = after(job, kernel.Plan(kernel.World{Job: job, Pods: pods, Now: now, Settings: kt.Settings}))
		for i := range pods {
			pods[i] = kt.Pod(job, "worker", i, kt.Running)
			pods[i].Labels[v1beta1.LabelAttempt] = fmt.Sprint(round + 1)
		}
		now = now.Add(10 * minute)
		job = after(job, kernel.Plan(kernel.World{Job: job, Pods: pods, Now: now, Settings: kt.Settings}))
		now = now.Add(10 * minute)
	}
	require.EqualValues(t, 12, job.Status.BackoffCount)
	raw, err := json.Marshal(job.Status.History)
	require.NoError(t, err)
	t.Logf("history of a job of 5,000 replicas that has begun again 12 times: %d bytes, %d entries", len(raw), len(job.Status.History.Entries))
	require.LessOrEqual(t, len(raw), 4000)
	require.NotEmpty(t, job.Status.History.Earlier)
}

// Before all run again the same replica fails once more, for another reason. Who caused that does not change what the loss came of.
func TestTheHistoryOfALossTellsOfItsBeginning(t *testing.T) {
	job, both := trains(t, kt.JobScope, kt.BackoffLimit(9))
	fails := func(rank, attempt int, since, end time.Duration, words string) *corev1.Pod {
		return kt.Pod(job, "worker", rank, failedAt(since, end), onNode("a"), func(p *corev1.Pod) {
			p.Labels[v1beta1.LabelAttempt], p.Labels[v1beta1.LabelJobAttempt] = fmt.Sprint(attempt), fmt.Sprint(attempt)
			p.Status.ContainerStatuses[0].State.Terminated.Message = words
		})
	}
	job = look(t, job, 60*minute+10*second, fails(0, 0, 20*second, 60*minute, "ValueError: loss is nan"), both[1])
	require.Contains(t, lastEntry(job).Message, "nan")
	told := lastEntry(job)
	follows := fails(0, 1, 61*minute, 62*minute, "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411")
	runs := kt.Pod(job, "worker", 1, startedAt(63*minute), func(p *corev1.Pod) {
		p.Labels[v1beta1.LabelAttempt], p.Labels[v1beta1.LabelJobAttempt] = "1", "1"
		p.Status.Phase = corev1.PodPending
		p.Status.ContainerStatuses = nil
	})
	job = look(t, job, 62*minute+10*second, follows, runs)
	require.EqualValues(t, 2, lastEntry(job).Restarts)
	require.Contains(t, job.Status.FirstFailure.Message, "Connection closed")
	job = look(t, job, 62*minute+12*second, follows, fails(1, 1, 61*minute, 62*minute-second, "KeyError: 'x'"))
	require.Contains(t, job.Status.FirstFailure.Message, "KeyError", "the other one came first")
	require.Equal(t, told.Pod, lastEntry(job).Pod)
	require.Equal(t, told.Message, lastEntry(job).Message)
}
