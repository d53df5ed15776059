package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// awaitingPhase has the pod's code exit with 0, before the kubelet says so with the phase.
func awaitingPhase(p *corev1.Pod) {
	kt.Exited(0)(p)
	p.Status.Phase = corev1.PodRunning
}

// evicted is how a kubelet says late that it has evicted such a pod.
func evicted(p *corev1.Pod) {
	kt.Exited(0)(p)
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, LastTransitionTime: metav1.NewTime(kt.At(2 * time.Second)),
	})
}

func TestAnEvictedPodThatExitsWithZeroIsRunAgain(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	running := after(job, plan(t, job, kt.At(time.Second), kt.Pod(job, "worker", 0, kt.Running)))
	d := plan(t, running, kt.At(2*time.Second), kt.Pod(job, "worker", 0, awaitingPhase))
	require.Empty(t, d.Actions)
	require.Equal(t, running.Status.Conditions, d.Status.Conditions, "nobody has said yet whether it did its work")
	require.Equal(t, running.Status.Ledger, d.Status.Ledger)

	next := after(running, plan(t, running, kt.At(3*time.Second), kt.Pod(job, "worker", 0, evicted)))
	require.EqualValues(t, 1, next.Status.DisruptionCount)
	require.Nil(t, next.Status.CompletionTime)

	next = after(running, plan(t, running, kt.At(3*time.Second), kt.Pod(job, "worker", 0, kt.Exited(0))))
	require.Equal(t, v1beta1.JobSucceeded, next.Status.Phase)
}

// A pod that was stopped before its phase says how it has ended would be run again.
func TestAPauseWaitsForThePhaseOfWhatHasEnded(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	job = after(job, plan(t, job, kt.At(time.Second), kt.Pods(job, "worker", 2, kt.Running)...))
	paused := kt.Edited(job, kt.PauseNow(true))
	paused = after(paused, plan(t, paused, kt.At(2*time.Second), kt.Pod(job, "worker", 0, awaitingPhase), kt.Pod(job, "worker", 1, kt.Running)))
	d := plan(t, paused, kt.At(2*time.Second), kt.Pod(job, "worker", 0, awaitingPhase), kt.Pod(job, "worker", 1, kt.Running))
	require.Equal(t, []string{"StopPod worker-1"}, did(d))
	paused = after(paused, plan(t, paused, kt.At(3*time.Second), kt.Pod(job, "worker", 0, kt.Exited(0)), kt.Pod(job, "worker", 1, kt.Running)))
	require.Equal(t, "0", paused.Status.Ledger[0].Succeeded)
}

func TestAPodOfAnotherModeThatAwaitsItsPhaseDoesNotRun(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	pod := kt.Pod(job, "worker", 0, awaitingPhase)
	debugs := kt.Edited(job, kt.DebugNow(true))
	d := plan(t, debugs, kt.At(2*time.Second), pod)
	require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	require.Empty(t, did(d))
	for _, e := range d.Events {
		require.NotEqual(t, v1beta1.ReasonRunning, e.Reason)
	}
}

// Its node may not answer any more: then what the containers' states say counts.
func TestAPhaseIsNotWaitedForForEver(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	job = after(job, plan(t, job, kt.At(time.Second), kt.Pod(job, "worker", 0, kt.Running)))
	pod := kt.Pod(job, "worker", 0, awaitingPhase, kt.Deleted(kt.At(time.Minute), 30*time.Second))
	d := plan(t, job, kt.At(2*time.Minute), pod)
	require.Empty(t, d.Actions, "a mark would say that it had not ended")
	require.Equal(t, 4*time.Minute+30*time.Second, d.RequeueAfter)
	d = plan(t, job, kt.At(2*time.Minute+d.RequeueAfter), pod)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
}
