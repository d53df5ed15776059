package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// starts sets when the pods of a type are created.
func starts(p v1beta1.StartPolicy) func(*v1beta1.ReplicaSpec) {
	return func(r *v1beta1.ReplicaSpec) { r.StartPolicy = p }
}

// probed has a pod that runs say itself whether it is Ready.
func probed(ready corev1.ConditionStatus) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Spec.Containers = []corev1.Container{{Name: "main", ReadinessProbe: &corev1.Probe{}}}
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: ready})
	}
}

func TestWhoStartsAfterTheOthersWaitsUntilTheyAreReady(t *testing.T) {
	job := kt.Job(kt.Type("launcher", 1, starts(v1beta1.StartAfterOthers)), kt.Type("worker", 2), kt.Type("store", 1, auxiliary), kt.Begun)
	store := kt.Pod(job, "store", 0)
	require.NotContains(t, did(plan(t, job, kt.Start)), "CreatePod launcher-0@0")
	for name, tc := range map[string]struct {
		second *corev1.Pod
		starts bool
	}{
		"is Pending":          {kt.Pod(job, "worker", 1, kt.Scheduled), false},
		"runs":                {kt.Pod(job, "worker", 1, kt.Running), true},
		"runs, but unready":   {kt.Pod(job, "worker", 1, kt.Running, probed(corev1.ConditionFalse)), false},
		"runs, and says so":   {kt.Pod(job, "worker", 1, kt.Running, probed(corev1.ConditionTrue)), true},
		"is deleted":          {kt.Pod(job, "worker", 1, kt.Running, kt.Deleted(kt.Start, time.Minute)), false},
		"has succeeded":       {kt.Pod(job, "worker", 1, kt.Exited(0)), true},
		"has failed for good": {kt.Pod(job, "worker", 1, kt.Exited(1)), false}, // which ends the job
	} {
		d := plan(t, job, kt.At(time.Minute), store, kt.Pod(job, "worker", 0, kt.Running), tc.second)
		if tc.starts {
			require.Contains(t, did(d), "CreatePod launcher-0@0", name)
		} else {
			require.NotContains(t, did(d), "CreatePod launcher-0@0", name)
		}
	}
}

// The first launcher comes at once, and fails if its workers are not there. Others would do so, too, and spend the limit.
func TestWhoRestartsAfterTheOthersSpendsNoLimitOnThem(t *testing.T) {
	job := kt.Job(kt.BackoffLimit(1), kt.Type("launcher", 1, starts(v1beta1.StartRestartAfterOthers)), kt.Type("worker", 1), kt.Begun)
	require.Contains(t, did(plan(t, job, kt.Start)), "CreatePod launcher-0@0")

	pulls := kt.Pod(job, "worker", 0, kt.Scheduled)
	job = after(job, plan(t, job, kt.At(time.Minute), pulls, kt.Pod(job, "launcher", 0, kt.Exited(1))))
	require.EqualValues(t, 1, job.Status.BackoffCount)
	d := plan(t, job, kt.At(time.Hour), pulls)
	require.Empty(t, d.Actions)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "worker-0", "who is awaited says more than who waits")
	d = plan(t, job, kt.At(2*time.Hour), kt.Pod(job, "worker", 0, kt.Running, probed(corev1.ConditionFalse)))
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "until the replicas of other types are Ready")
	require.Equal(t, []string{"CreatePod launcher-0@1"}, did(plan(t, job, kt.At(3*time.Hour), kt.Pod(job, "worker", 0, kt.Running))))
}

// A gang is placed when all of it is there. What waited for it would keep it from it.
func TestAGangWaitsForNobodysStartPolicy(t *testing.T) {
	job := kt.Job(kt.Type("launcher", 1, starts(v1beta1.StartAfterOthers)), kt.Type("worker", 1), t9k("team", 0), kt.Begun)
	require.Contains(t, did(plan(t, job, kt.Start)), "CreatePod launcher-0@0")
}

func TestTypesThatAllStartAfterOthersStart(t *testing.T) {
	job := kt.Job(kt.Type("a", 1, starts(v1beta1.StartAfterOthers)), kt.Type("b", 1, starts(v1beta1.StartAfterOthers)), kt.Begun)
	require.Equal(t, []string{"CreatePod a-0@0", "CreatePod b-0@0"}, did(plan(t, job, kt.Start)))
}

// Replicas that restart in place wait in their pods until all are there, and are not Ready while they do.
func TestABarrierWaitsForNobodysStartPolicy(t *testing.T) {
	job := kt.Job(kt.BackoffLimit(3), kt.Type("launcher", 1, starts(v1beta1.StartAfterOthers)), kt.Type("worker", 1), kt.JobScope, kt.InPlace, kt.Begun)
	job.Status.JobAttempt, job.Status.InPlace = 1, &v1beta1.InPlaceStatus{}
	require.Contains(t, did(plan(t, job, kt.At(time.Hour), kt.Pod(job, "worker", 0, kt.Running, probed(corev1.ConditionFalse)))), "CreatePod launcher-0@1")
}

// The kubelet calls a pod Running whose container it is about to start again, but not Ready.
func TestACrashLoopInPlaceIsNotReady(t *testing.T) {
	job := kt.Job(kt.BackoffLimit(3), kt.Type("launcher", 1, starts(v1beta1.StartAfterOthers)), kt.Type("worker", 1), kt.InPlace, kt.Begun)
	down := func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		p.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	}
	worker := kt.Pod(job, "worker", 0, kt.Running, down)
	job = after(job, plan(t, job, kt.At(time.Minute), worker))
	require.EqualValues(t, 1, job.Status.BackoffCount)

	waiting := with([]*corev1.Pod{worker}, told(1, 0))
	require.NotContains(t, did(plan(t, job, kt.At(2*time.Minute), waiting...)), "CreatePod launcher-0@0")
	again := with([]*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running)}, told(1, 0), startedAgain(1, 1))
	again[0].UID, again[0].Labels = worker.UID, worker.Labels
	require.Contains(t, did(plan(t, job, kt.At(2*time.Minute), again...)), "CreatePod launcher-0@0")
}
