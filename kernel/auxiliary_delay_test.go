package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// flapping is a job of two workers and a tracker. The tracker has failed so often that it waits for five minutes, an hour after the
// start.
func flapping(t *testing.T, options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2), kt.Type("tracker", 1, auxiliary), kt.JobScope, kt.BackoffLimit(9)}, append(options, kt.Begun)...)...)
	workers := kt.Pods(job, "worker", 2, kt.Running, withIP)
	job = after(job, plan(t, job, kt.Start, append(deepCopies(workers), kt.Pod(job, "tracker", 0, kt.Running))...))
	for i := range 10 {
		now := kt.At(time.Duration(i*6) * time.Minute)
		job = after(job, plan(t, job, now, append(deepCopies(workers), kt.Pod(job, "tracker", 0, kt.Exited(0), kt.StartedAt(now.Add(-time.Minute))))...))
	}
	require.NotNil(t, ledger(job.Status, "tracker").Replicas[0].NotBefore)
	return job, workers
}

// failedAfter has the code of a pod fail which has run for so long.
func failedAfter(lived time.Duration, now time.Time) kt.PodOption {
	return func(p *corev1.Pod) {
		startedAgain(1, 9)(p)
		e := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		e.StartedAt, e.FinishedAt = metav1.NewTime(now.Add(-lived)), metav1.NewTime(now)
	}
}

func TestTheStreakOfAnAuxiliaryReplicaIsItsOwn(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"in place": {kt.InPlace}, "replaced": nil} {
		job, workers := flapping(t, options...)
		now := kt.At(time.Hour)
		ends := []kt.PodOption{failedAfter(5*time.Minute, now)}
		if options == nil {
			ends = []kt.PodOption{kt.ExitedAt(9, now), kt.StartedAt(now.Add(-5 * time.Minute))}
		}
		d := plan(t, job, now, append(with(workers[:1], ends...), workers[1])...)
		require.EqualValues(t, 1, d.Status.JobAttempt, name)
		record := ledger(d.Status, "worker").Replicas[0]
		require.EqualValues(t, 1, record.Streak, name)
		require.Nil(t, record.NotBefore, name)
	}
}

func TestAnAuxiliaryReplicaDoesNotWaitForTheStreakOfTheOthers(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(9), kt.Type("worker", 2), kt.Type("tracker", 1, auxiliary), kt.Begun)
	job.Status.JobAttempt = 9
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 9}}}}
	d := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "tracker", 0, kt.Exited(0), kt.StartedAt(kt.Start)))...)
	require.EqualValues(t, 1, ledger(d.Status, "tracker").Replicas[0].Streak)
	require.EqualValues(t, 9, ledger(d.Status, "worker").Replicas[0].Streak)
}

func TestTheDelayOfAnAuxiliaryReplicaIsItsOwn(t *testing.T) {
	now := kt.At(55 * time.Minute)
	job, _ := flapping(t)
	job.Status.JobAttempt = 1
	d := plan(t, job, now)
	require.Equal(t, []string{"CreatePod worker-0@1", "CreatePod worker-1@1"}, did(d), "the tracker comes later")
	require.Positive(t, d.RequeueAfter)

	job, workers := flapping(t, kt.InPlace)
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1])...))
	w := kernel.World{Job: job, Pods: with(workers, told(1, 1)), Now: now, Settings: kt.Settings, Reports: reports(1, workers...)}
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt, "it is no member of the barrier")

	// Whoever else fails often waits, and the tracker does not wait for that.
	job.Status.Ledger = nil
	notBefore := metav1.NewTime(now.Add(5 * time.Minute))
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 10, NotBefore: &notBefore}}}}
	w.Job = job
	d = planWorld(t, w)
	require.EqualValues(t, 0, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, []string{"CreatePod tracker-0@1"}, did(d))
}
