package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Where each replica restarts alone, others follow one by one, each in a reconcile of its own. The last of them was told as the only one.
func TestAllWhoFollowOneByOneAreCounted(t *testing.T) {
	job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(9), kt.Begun)
	pods := kt.Pods(job, "worker", 4, kt.Running)
	for n, rank := range []int{2, 0, 1, 3} {
		words := parted
		if n == 0 {
			words = nan
		}
		pods[rank] = kt.Pod(job, "worker", rank, crashed(2*n, 1, words), began(time.Second))
		d := plan(t, job, kt.At(time.Minute+time.Duration(2*n+5)*time.Second), pods...)
		require.EqualValues(t, n+1, d.Status.BackoffCount)
		require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
		require.EqualValues(t, n, d.Status.FirstFailure.Others)
		job = after(job, d)
		require.EqualValues(t, n, plan(t, job, kt.At(time.Minute+time.Duration(2*n+6)*time.Second), pods...).Status.FirstFailure.Others, "once")
		pods[rank] = kt.Pod(job, "worker", rank)
	}
}

// A replica that was started anew loses its peer again while that is not back. It is counted once, however its kubelet tells of it.
func TestWhoFailsAgainIsCountedOnceAmongThoseWhoFollow(t *testing.T) {
	for name, again := range map[string]kt.PodOption{
		"it is told when it began": began(70 * time.Second),
		"it is not":                func(*corev1.Pod) {},
		"it began at once":         began(time.Minute), // kubelets tell times in seconds: the first failed in this one
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(9), kt.Begun)
			pods := kt.Pods(job, "worker", 4, kt.Running)
			pods[2] = kt.Pod(job, "worker", 2, crashed(0, 1, nan), began(time.Second))
			pods[0] = kt.Pod(job, "worker", 0, crashed(2, 1, parted), began(time.Second))
			d := plan(t, job, kt.At(67*time.Second), pods...)
			require.EqualValues(t, 1, d.Status.FirstFailure.Others)
			job = after(job, d)
			pods[2], pods[0] = kt.Pod(job, "worker", 2), kt.Pod(job, "worker", 0, crashed(20, 1, parted), again)
			d = plan(t, job, kt.At(90*time.Second), pods...)
			require.EqualValues(t, 3, d.Status.BackoffCount)
			require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
			require.EqualValues(t, 1, d.Status.FirstFailure.Others)
		})
	}
}

// began is when the container of a pod began that has ended.
func began(at time.Duration) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State.Terminated.StartedAt.Time = kt.At(at)
	}
}
