package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// How long failures wait to be counted while their cause may still be told.

// Nobody waits where nothing is to be heard, or something else is.
func TestWhoFollowsWaitsForNobody(t *testing.T) {
	for name, change := range map[string]func(*v1beta1.GenericJob, []*corev1.Pod){
		"all have ended": func(job *v1beta1.GenericJob, pods []*corev1.Pod) {
			copy(pods, kt.Pods(job, "worker", 4, crashed(1, 1, parted)))
		},
		"one tells a cause": func(job *v1beta1.GenericJob, pods []*corev1.Pod) {
			pods[3] = kt.Pod(job, "worker", 3, crashed(1, 3, ""))
		},
		"it is edited": func(job *v1beta1.GenericJob, _ []*corev1.Pod) { job.Generation++ },
		"a clock is ahead": func(job *v1beta1.GenericJob, pods []*corev1.Pod) {
			pods[0] = kt.Pod(job, "worker", 0, crashed(9, 1, parted))
		},
		"another is disrupted": func(job *v1beta1.GenericJob, pods []*corev1.Pod) {
			pods[3] = kt.Pod(job, "worker", 3, crashed(1, 137, ""), kt.Disrupted)
		},
	} {
		job := world4()
		pods := kt.Pods(job, "worker", 4, kt.Running)
		pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
		change(job, pods)
		require.EqualValues(t, 1, plan(t, job, kt.At(62*time.Second), pods...).Status.JobAttempt, name)
	}
}

// The clock of a node may be ahead by a second or two. The cause is waited for all the same.
func TestTheCauseIsWaitedForThoughAClockIsAhead(t *testing.T) {
	job := world4()
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(4, 1, parted))
	d := plan(t, job, kt.At(62*time.Second), pods...)
	require.Zero(t, d.Status.JobAttempt)
	require.Equal(t, 6*time.Second, d.RequeueAfter)
	require.EqualValues(t, 1, plan(t, job, kt.At(68*time.Second), pods...).Status.JobAttempt)
}

// Nobody counts what has ended once the mode is another, or the job over.
func TestWhoWaitsForTheCauseIsCountedWhenTheJobStops(t *testing.T) {
	story := queued(kt.JobScope)
	c := story.Cluster
	begun := c.Now
	for i, pod := range c.Pods {
		if pod.Labels[v1beta1.LabelReplicaRank] == "1" {
			c.Pods[i] = with([]*corev1.Pod{pod}, kt.ExitedAt(1, begun.Add(time.Second)), saying(parted))[0]
		}
	}
	story.Then(2*time.Second, "a consequence is told", func() {})
	require.Zero(t, c.Job.Status.BackoffCount, "the cause may be told any moment")
	story.Then(time.Second, "Kueue preempts the job", func() { c.EvictWorkload("Preempted", "by another") })
	require.EqualValues(t, 1, c.Job.Status.BackoffCount)

	job := world4(deadline(63))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
	d := plan(t, job, kt.At(62*time.Second), pods...)
	require.Nil(t, d.Status.CompletionTime)
	d = plan(t, after(job, d), kt.At(63*time.Second), pods...)
	require.Equal(t, v1beta1.ReasonDeadlineExceeded, condition(d.Status, v1beta1.ConditionFailed).Reason)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
}

// Who tells a first failure waits for the next one's cause, which is none of the first.
func TestWhoWaitsForTheCauseBelongsToNoEarlierFailure(t *testing.T) {
	job, pods := startedOverBy(t, 1, 3)
	first := job.Status.FirstFailure
	require.NotNil(t, first)
	pods[1] = with(pods[1:], startedAgain(1, 1), func(p *corev1.Pod) {
		last := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		last.FinishedAt.Time, last.Message = kt.At(119*time.Second), parted
	})[0]
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.Equal(t, job.Status.BackoffCount, d.Status.BackoffCount, "it waits")
	require.Equal(t, first, d.Status.FirstFailure)
}
