package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// An eviction is final where the restart policy is Never. What followed from it was told as the first failure.
func TestADisruptionThatIsFinalIsTheFirstFailure(t *testing.T) {
	job := kt.Job(kt.Type("worker", 4, kt.Policy(v1beta1.RestartNever, 0)), kt.Begun)
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[1] = kt.Pod(job, "worker", 1, crashed(1, 1, parted))
	pods[2] = kt.Pod(job, "worker", 2, crashed(2, 143, ""), kt.Disrupted)
	first := plan(t, job, kt.At(2*time.Minute), pods...).Status.FirstFailure
	require.Equal(t, nameOf(job, 2), first.Pod)
	require.False(t, first.Probable)
	require.Equal(t, "Pod["+nameOf(job, 2)+"] was disrupted: EvictionByEvictionAPI; 1 other failed, too", first.Summary)
}

// What failed because another replica was disrupted is no cause, whenever it ended and whenever it is read again.
func TestWhatADisruptionHasCostIsNotTheFirstFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		words string
		first int
	}{"that says so": {parted, 2}, "that says nothing": {"", 2}, "that has a cause of its own": {nan, 1}} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 3, kt.Policy(v1beta1.RestartNever, 0)), kt.JobScope, kt.Begun)
			pods := kt.Pods(job, "worker", 3, kt.Running)
			pods[1] = kt.Pod(job, "worker", 1, crashed(1, 1, tc.words))
			pods[2] = kt.Pod(job, "worker", 2, crashed(6, 143, ""), kt.Disrupted)
			for i := range 2 {
				d := plan(t, job, kt.At(2*time.Minute+time.Duration(i)*time.Second), pods...)
				job = after(job, d)
				first := job.Status.FirstFailure
				require.Equal(t, nameOf(job, tc.first), first.Pod, first.Summary)
				require.False(t, first.Probable)
				require.EqualValues(t, 1, first.Others)
				require.Equal(t, []string{first.Pod, nameOf(job, 3-tc.first)}, podsOf(job.Status.Failures))
				require.Contains(t, condition(job.Status, v1beta1.ConditionFailed).Message, first.Summary+"; its restart policy is Never")
				require.Contains(t, condition(job.Status, v1beta1.ConditionReplicaFailure).Message, first.Summary+"; its restart policy is Never")
			}
		})
	}
}

// The disruption may not have ended its pod yet. What followed from another's end is told as the first failure, though only as a probable one.
func TestWhatFollowsWhileAnotherPodGoesIsProbable(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3, kt.Policy(v1beta1.RestartNever, 0)), kt.JobScope, kt.Begun)
	pods := kt.Pods(job, "worker", 3, kt.Running)
	pods[1] = kt.Pod(job, "worker", 1, crashed(1, 1, parted))
	pods[2] = kt.Pod(job, "worker", 2, kt.Running, kt.Deleted(kt.At(time.Minute), 30*time.Second))
	first := plan(t, job, kt.At(70*time.Second), pods...).Status.FirstFailure
	require.Equal(t, nameOf(job, 1), first.Pod)
	require.True(t, first.Probable)
}

// A replica that nobody waits for may have failed for good hours ago, and its pod is still there. Its failure was told as the first of another
// restart.
func TestAFailureOfHoursAgoIsNotTheFirstOfARestart(t *testing.T) {
	once := kt.Type("once", 1, kt.Policy(v1beta1.RestartNever, -1))
	job := kt.Job(kt.JobScope, kt.Type("worker", 2), once, success(v1beta1.FinishRule{"worker": ranks(0)}), kt.BackoffLimit(3), kt.Begun)
	pods := append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "once", 0, crashed(1, 1, nan)))
	crash := kt.Pod(job, "worker", 0, crashed(3*3600, 3, ""))
	job = after(job, plan(t, job, kt.At(2*time.Minute), pods...))
	require.Equal(t, spec.PodName(job, "once", 0), job.Status.FirstFailure.Pod)
	pods[0] = crash
	d := plan(t, job, kt.At(3*time.Hour+2*time.Minute), pods...)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
	require.Zero(t, d.Status.FirstFailure.Others)
	d = plan(t, after(job, d), kt.At(3*time.Hour+3*time.Minute), pods...)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
}

// A job that is blocked keeps its pods. So their failures wait for the cause, as in a job that runs: what followed from it was told as the first
// failure.
func TestABlockedJobWaitsForTheCause(t *testing.T) {
	job := world4(t9k("", 0))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
	blocked := func(second int) kernel.Decision {
		return planWorld(t, kernel.World{
			Job: job, Pods: pods, Now: kt.At(time.Duration(second) * time.Second), Settings: kt.Settings, Gang: kernel.GangObjects{Missing: "PodGroup"},
		})
	}
	d := blocked(62)
	require.Equal(t, v1beta1.ReasonGangUnavailable, condition(d.Status, v1beta1.ConditionBlocked).Reason)
	require.Zero(t, d.Status.BackoffCount, "the cause may be told any moment")
	require.Equal(t, 3*time.Second, d.RequeueAfter)
	require.EqualValues(t, 1, blocked(65).Status.BackoffCount, "it is not waited for for ever")
	pods[2] = kt.Pod(job, "worker", 2, crashed(1, 1, nan))
	d = blocked(63)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
	require.False(t, d.Status.FirstFailure.Probable)
}

// A final failure may leave the job going on, in the same attempt. The cause is looked for there, though its kubelet has not reported its phase yet.
func TestTheCauseOfAFinalFailureIsHeardOfWhileTheJobGoesOn(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.Type("worker", 1), kt.Type("once", 2, kt.Policy(v1beta1.RestartNever, -1)), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	cause := kt.Pod(job, "once", 1, crashed(0, 1, nan), func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	d := plan(t, job, kt.At(66*time.Second), kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "once", 0, crashed(1, 1, parted)), cause)
	require.Equal(t, "0", ledger(d.Status, "once").Failed)
	require.Zero(t, d.Status.JobAttempt)
	require.Equal(t, cause.Name, d.Status.FirstFailure.Pod)
	require.False(t, d.Status.FirstFailure.Probable)
}
