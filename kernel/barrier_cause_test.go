package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// diedAt is how the kubelet reports a container that has ended so many seconds after the first minute, and runs again.
func diedAt(second int, code int32, words string) kt.PodOption {
	return func(p *corev1.Pod) {
		startedAgain(1, code)(p)
		t := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		t.FinishedAt.Time, t.Message = kt.At(time.Minute+time.Duration(second)*time.Second), words
	}
}

// The wrapper of the replica that failed first may be back at the barrier before its kubelet has reported that its code has failed. Once the barrier
// was open, nobody read that any more.
func TestTheBarrierWaitsForTheKubeletThatMayKnowTheCause(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(3))
	pods[1] = with(pods[1:], diedAt(0, 1, parted))[0]
	job = after(job, plan(t, job, kt.At(65*time.Second), pods...))
	require.True(t, job.Status.FirstFailure.Probable)
	require.EqualValues(t, 1, job.Status.JobAttempt)

	w := kernel.World{Job: job, Pods: with(pods, told(1, 1)), Now: kt.At(67 * time.Second), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	for _, p := range pods {
		w.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 1, Exits: 1}
	}
	waits := planWorld(t, w)
	require.Zero(t, waits.Status.InPlace.StartedJobAttempt, "worker-0 has ended, and how is not known")
	require.LessOrEqual(t, waits.RequeueAfter, 10*time.Second)
	require.Contains(t, condition(waits.Status, v1beta1.ConditionRunning).Message, "waiting for the kubelet to say how replica worker-0 has ended")

	late := w
	late.Now = w.Now.Add(10 * time.Second)
	require.EqualValues(t, 1, planWorld(t, late).Status.InPlace.StartedJobAttempt, "but not for ever")

	early := w
	early.Now = w.Now.Add(-time.Hour)
	require.EqualValues(t, 1, planWorld(t, early).Status.InPlace.StartedJobAttempt, "a clock that was set back holds nobody")

	told := w
	told.Pods = append(with(w.Pods[:1], diedAt(3, 3, nan)), w.Pods[1:]...)
	d := planWorld(t, told)
	require.EqualValues(t, 1, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
	require.False(t, d.Status.FirstFailure.Probable)
	require.Contains(t, d.Events[0].Message, "loss is nan")

	job.Status.FirstFailure.Follows, job.Status.FirstFailure.Probable = "", false
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt, "where the cause is known, nobody waits")
}
