package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// A store that still serves the last attempt would have the members of the next meet there.
func TestNobodyMeetsTheAuxiliaryReplicaOfAnEarlierAttempt(t *testing.T) {
	now := kt.At(55 * time.Minute)
	old, _ := flapping(t)
	goes := kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job := old.DeepCopy()
	job.Status.JobAttempt = 1
	for name, store := range map[string]*corev1.Pod{
		"it is to be deleted":      kt.Pod(old, "tracker", 0, kt.Running),
		"it is being deleted":      goes,
		"its kubelet may be late":  kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now.Add(-32*time.Second), 30*time.Second)),
		"it has not begun to run":  kt.Pod(old, "tracker", 0, kt.Scheduled, kt.Deleted(now, 30*time.Second)),
		"somebody else deletes it": kt.Pod(old, "tracker", 0, kt.Running, kt.Disrupted, kt.Deleted(now, 30*time.Second)),
	} {
		require.NotContains(t, did(plan(t, job, now, store)), "CreatePod worker-1@1", name)
	}
	d := plan(t, job, now, goes)
	require.Contains(t, did(plan(t, job, now.Add(d.RequeueAfter), goes)), "CreatePod worker-1@1", "after its grace period nothing runs there, whatever its node says")

	// The same with all others in their pods.
	job, workers := flapping(t, kt.InPlace)
	goes = kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1], goes)...))
	w := kernel.World{Job: job, Pods: append(with(workers, told(1, 1)), goes), Now: now, Settings: kt.Settings, Reports: reports(1, workers...)}
	d = planWorld(t, w)
	require.Zero(t, d.Status.InPlace.StartedJobAttempt)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "Waiting for replica tracker-0: its pod is Terminating")
	w.Now = now.Add(d.RequeueAfter)
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt)
}

// An operator that has just started knows nothing but what is stored: it neither begins sooner nor waits anew.
func TestAnOperatorThatRestartsWaitsForAnOldStoreAsLongAsTheOneBefore(t *testing.T) {
	now := kt.At(55 * time.Minute)
	old, _ := flapping(t)
	goes := kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job := old.DeepCopy()
	job.Status.JobAttempt = 1
	wait := plan(t, job, now, goes).RequeueAfter
	require.GreaterOrEqual(t, wait, 30*time.Second)

	half := now.Add(wait / 2)
	job.Status = stored(t, job.Status)
	d := plan(t, job, half, goes)
	require.NotContains(t, did(d), "CreatePod worker-1@1")
	require.Equal(t, now.Add(wait), half.Add(d.RequeueAfter))
	require.Contains(t, did(plan(t, job, now.Add(wait), goes)), "CreatePod worker-1@1")

	// The same with all others in their pods. What they have reported is asked for again.
	job, workers := flapping(t, kt.InPlace)
	goes = kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1], goes)...))
	job.Status = stored(t, job.Status)
	w := kernel.World{Job: job, Pods: append(with(workers, told(1, 1)), goes), Now: half, Settings: kt.Settings}
	require.Zero(t, planWorld(t, w).Status.InPlace.StartedJobAttempt)
	w.Reports = reports(1, workers...)
	require.Zero(t, planWorld(t, w).Status.InPlace.StartedJobAttempt)
	w.Now = now.Add(wait)
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt)
}
