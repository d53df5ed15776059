package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func TestRollingDrainsDoNotReplaceAllPods(t *testing.T) {
	job, _ := running(t, 8, kt.Type("worker", 8), kt.InPlace, kt.JobScope, kt.BackoffLimit(3))
	for drained := range 6 {
		now := kt.At(time.Duration(drained+1) * 6 * time.Minute)
		pods := kt.Pods(job, "worker", 8, kt.Running, kt.StartedAt(now.Add(-5*time.Minute)), withIP)
		pods[drained] = kt.Pod(job, "worker", drained, kt.Exited(143), kt.Disrupted, kt.StartedAt(now.Add(-5*time.Minute)))
		job = after(job, plan(t, job, now, pods...))
		require.EqualValues(t, drained+1, job.Status.DisruptionCount)
		job.Status.InPlace.StartedJobAttempt = job.Status.JobAttempt // all have come to the barrier
		job.Status.InPlace.RestartTime = &metav1.MicroTime{Time: now.Add(time.Second)}
	}
	require.Zero(t, job.Status.InPlace.MinPodJobAttempt, "the others wait in their pods")

	now := kt.At(time.Hour)
	pods := kt.Pods(job, "worker", 8, kt.Running, withIP)
	d := plan(t, job, now, append(pods[:7:7], with(pods[7:], failedAfter(time.Minute, now))...)...)
	require.Equal(t, "attempt=7 go=0 jobAttempt=7", orders(d)["7"], "the first failure is in place")
}

// All members have lived as long, so the short lives of another rank before are over, too.
func TestAQuietDayEndsTheStreakOfAllMembers(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(30), kt.Type("worker", 2), kt.Begun)
	job = after(job, plan(t, job, kt.Start, kt.Pods(job, "worker", 2, kt.Running)...))
	job.Status.JobAttempt = 9
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 9}}}}
	for i, lived := range []time.Duration{24 * time.Hour, time.Minute} {
		now := kt.At(24*time.Hour + time.Duration(i)*10*time.Minute)
		pods := kt.Pods(job, "worker", 2, kt.Running, kt.StartedAt(now.Add(-lived)))
		job = after(job, plan(t, job, now, pods[0], kt.Pod(job, "worker", 1, kt.ExitedAt(1, now), kt.StartedAt(now.Add(-lived)))))
		require.EqualValues(t, i+1, ledger(job.Status, "worker").Replicas[1].Streak)
	}
}

// A container that has not failed is as old as its pod: what counts is since when its present code has run.
func TestShortLivesInTurnsAreAStreakInPlace(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(9))
	job.Status.JobAttempt = 1
	job.Status.Time.Since, job.Status.Time.Open.Since = metav1.NewTime(kt.At(time.Hour)), metav1.NewTime(kt.At(time.Hour))
	job.Status.InPlace = &v1beta1.InPlaceStatus{StartedJobAttempt: 1, BarrierTime: &metav1.MicroTime{Time: kt.At(time.Hour)}, RestartTime: &metav1.MicroTime{Time: kt.At(time.Hour)}}
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 1, Restarts: 1}}}}
	now := kt.At(time.Hour + time.Minute)
	d := plan(t, job, now, append(with(pods[:1], goes(1, 1)), with(pods[1:], goes(1, 1), failedAfter(time.Hour, now))...)...)
	require.EqualValues(t, 2, ledger(d.Status, "worker").Replicas[1].Streak)
}
