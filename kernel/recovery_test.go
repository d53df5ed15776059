package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// requireRecovery checks when what became known of the last recovery, each in seconds since the start; 0 for what is not known.
func requireRecovery(t *testing.T, job *v1beta1.GenericJob, cause v1beta1.TimeCause, began, detected, replaced, stepped int) {
	t.Helper()
	at := func(seconds int) *metav1.Time {
		if seconds == 0 {
			return nil
		}
		return &metav1.Time{Time: kt.At(time.Duration(seconds) * time.Second)}
	}
	r := job.Status.Recovery
	require.NotNil(t, r)
	require.Equal(t, cause, r.Cause)
	require.True(t, r.Began.Equal(at(began)), "began %s", r.Began)
	require.True(t, r.Detected.Equal(at(detected)), "detected %s", r.Detected)
	require.True(t, r.Replaced.Equal(at(replaced)), "replaced %s", r.Replaced)
	require.True(t, r.Stepped.Equal(at(stepped)), "stepped %s", r.Stepped)
}

// trainsWithSteps is a job of two replicas that train since second 20, and tells its steps.
func trainsWithSteps(t *testing.T) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)"} }))
	job = look(t, job, 3*second)
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, startedAt(20*second))}
	job = look(t, job, 25*second, both...)
	job = hear(t, job, 200*second, "100", &inplace.Pace{First: 1, Each: true, Seconds: 2}, both...)
	require.Nil(t, job.Status.Recovery, "it has not lost any time")
	return job, both
}

func TestARecoveryIsTimedFromTheEndOfCodeToTheNextStep(t *testing.T) {
	for name, c := range map[string]struct {
		pace    *inplace.Pace
		stepped int
	}{
		"counted back":                     {&inplace.Pace{First: 90, Each: true, Seconds: 3}, 332},
		"... not before all ran":           {&inplace.Pace{First: 0, Each: true, Seconds: 60}, 301},
		"the pace is not known yet":        {&inplace.Pace{First: 90}, 365},
		"... nor is the first step":        {&inplace.Pace{First: -1, Seconds: 3}, 365},
		"a pace that nobody can believe":   {&inplace.Pace{First: 90, Seconds: 1e9}, 365},
		"an earlier wrapper tells no more": {nil, 365},
	} {
		t.Run(name, func(t *testing.T) {
			job, both := trainsWithSteps(t)
			job = look(t, job, 282*second, both[0], kt.Pod(job, "worker", 1, failedAt(20*second, 260*second)))
			requireRecovery(t, job, v1beta1.TimeLostToRestart, 260, 282, 0, 0)
			job = look(t, job, 290*second, both[0], kt.Pod(job, "worker", 1))
			requireRecovery(t, job, v1beta1.TimeLostToRestart, 260, 282, 0, 0)
			again := []*corev1.Pod{both[0], kt.Pod(job, "worker", 1, startedAt(301*second))}
			job = look(t, job, 303*second, again...)
			requireRecovery(t, job, v1beta1.TimeLostToRestart, 260, 282, 301, 0)
			job = hear(t, job, 360*second, "100", c.pace, again...) // as far as before: no news
			require.Nil(t, job.Status.Recovery.Stepped)
			job = hear(t, job, 365*second, "101", c.pace, again...)
			job = hear(t, job, 600*second, "180", c.pace, again...)
			requireRecovery(t, job, v1beta1.TimeLostToRestart, 260, 282, 301, c.stepped)
		})
	}
}

func TestASecondFailureInARecoveryChangesNothing(t *testing.T) {
	job, both := trainsWithSteps(t)
	job = look(t, job, 282*second, both[0], kt.Pod(job, "worker", 1, failedAt(20*second, 260*second)))
	job = look(t, job, 290*second, kt.Pod(job, "worker", 0, failedAt(20*second, 286*second)), kt.Pod(job, "worker", 1, startedAt(288*second)))
	job = look(t, job, 320*second, kt.Pod(job, "worker", 0, startedAt(310*second)), kt.Pod(job, "worker", 1, startedAt(288*second)))
	requireRecovery(t, job, v1beta1.TimeLostToRestart, 260, 282, 310, 0)
	job = look(t, job, 400*second, kt.Pod(job, "worker", 0, startedAt(310*second)), kt.Pod(job, "worker", 1, failedAt(288*second, 399*second)))
	requireRecovery(t, job, v1beta1.TimeLostToRestart, 399, 400, 0, 0)
}

// A user's pause ends what is timed: the job is not to run. A later step belongs to no recovery.
func TestAPauseIsNoRecovery(t *testing.T) {
	job, both := trainsWithSteps(t)
	job = look(t, job, 282*second, both[0], kt.Pod(job, "worker", 1, failedAt(20*second, 260*second)))
	kt.PauseNow(true)(job)
	job.Generation++
	job = look(t, job, 285*second, both[0])
	require.Nil(t, job.Status.Recovery)
	kt.PauseNow(false)(job)
	job.Generation++
	job = look(t, job, 400*second)
	again := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(410*second)), kt.Pod(job, "worker", 1, startedAt(410*second))}
	job = look(t, job, 411*second, again...)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	job = hear(t, job, 500*second, "110", nil, again...)
	require.Nil(t, job.Status.Recovery)
}

func TestAFailureThatEndsTheJobIsNoRecovery(t *testing.T) {
	job, both := trainsWithSteps(t)
	job = look(t, job, 282*second, both[0], kt.Pod(job, "worker", 1, failedAt(20*second, 260*second)))
	again := []*corev1.Pod{both[0], kt.Pod(job, "worker", 1, startedAt(301*second))}
	job = look(t, job, 303*second, again...)
	one := job.DeepCopy()
	one.Spec.BackoffLimit = new(int32(0))
	one.Generation++
	one = look(t, one, 500*second, again[0], kt.Pod(one, "worker", 1, failedAt(301*second, 499*second)))
	require.NotNil(t, one.Status.CompletionTime)
	requireRecovery(t, one, v1beta1.TimeLostToRestart, 260, 282, 301, 0)
}

// Time alone writes nothing of it, nor does a look that finds nothing new.
func TestARecoveryLeadsToNoWrite(t *testing.T) {
	job, both := trainsWithSteps(t)
	job = look(t, job, 282*second, both[0], kt.Pod(job, "worker", 1, failedAt(20*second, 260*second)))
	again := []*corev1.Pod{both[0], kt.Pod(job, "worker", 1, startedAt(301*second))}
	job = look(t, job, 303*second, again...)
	for _, now := range []time.Duration{304 * second, time.Hour, 24 * time.Hour} {
		require.Equal(t, job.Status, plan(t, job, kt.At(now), again...).Status)
	}
	report := inplace.Report{Pod: "somebody else's", Step: "7"}
	d := planWorld(t, kernel.World{Job: job, Pods: again, Now: kt.At(time.Hour), Settings: kt.Settings, ProgressReport: report})
	require.Nil(t, d.Status.Recovery.Stepped, "no pod of the job has said that")
}
