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

// What changes the ledger is written at once; what only refreshes the view waits for a second to pass.
func TestViewChangesAreWrittenOnceASecond(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3, kt.Policy(onFailure, 3)), kt.Begun)
	one := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running)}
	d := plan(t, job, kt.At(300*time.Millisecond), one...)
	require.Equal(t, job.Status, d.Status, "too early")
	require.Equal(t, 700*time.Millisecond, d.RequeueAfter)
	require.Empty(t, d.Events)
	require.Len(t, d.Actions, 2, "actions do not wait")

	d = plan(t, job, kt.At(time.Second), one...)
	require.EqualValues(t, 1, d.Status.Aggregate.Running)
	require.Equal(t, kt.At(time.Second), d.Status.LastUpdateTime.Time)

	d = plan(t, job, kt.At(300*time.Millisecond), kt.Pod(job, "worker", 0, kt.Exited(1)))
	require.EqualValues(t, 1, d.Status.BackoffCount, "the ledger does not wait")
	d = plan(t, job, kt.At(300*time.Millisecond), kt.Pods(job, "worker", 3, kt.Running)...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase, "the phase does not wait")

	future := job.DeepCopy()
	future.Status.LastUpdateTime = &metav1.MicroTime{Time: kt.At(time.Hour)}
	d = plan(t, future, kt.Start, one...)
	require.EqualValues(t, 1, d.Status.Aggregate.Running, "a clock that jumped back does not silence a job for an hour")
}

// The apiserver takes as long for a status as it has rows.
func TestViewChangesOfManyRowsAreWrittenLessOften(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1000), kt.Begun)
	one := kt.Pod(job, "worker", 0, kt.Running)
	require.Equal(t, 2*time.Second, plan(t, job, kt.At(3*time.Second), one).RequeueAfter)
	require.Equal(t, 1, int(plan(t, job, kt.At(5*time.Second), one).Status.Aggregate.Running))

	job = kt.Job(kt.Type("worker", 1001), kt.Begun)
	require.Equal(t, 1, int(plan(t, job, kt.At(time.Second), kt.Pod(job, "worker", 0, kt.Running)).Status.Aggregate.Running), "it has no rows")
}

func TestASuccessThatDecidesNothingWaitsForTheView(t *testing.T) {
	begun := kt.Job(kt.Type("worker", 3, kt.Policy(onFailure, 3)), kt.Begun)
	job := after(begun, plan(t, begun, kt.Start, kt.Pods(begun, "worker", 3, kt.Running)...))
	soon := kt.At(300 * time.Millisecond)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Exited(0)), kt.Pod(job, "worker", 1, kt.Running), kt.Pod(job, "worker", 2, kt.Running)}
	d := plan(t, job, soon, pods...)
	require.Equal(t, job.Status, d.Status, "too early")
	require.Empty(t, did(d), "its finalizer stays")
	require.Equal(t, 700*time.Millisecond, d.RequeueAfter)
	d = plan(t, job, kt.At(time.Second), pods...)
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0"}, did(d))

	more := append([]*corev1.Pod{kt.Pod(job, "worker", 1, kt.Exited(0))}, pods[0], pods[2])
	d = plan(t, after(job, d), kt.At(1300*time.Millisecond), more...)
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, []string{"ReleasePod worker-0"}, did(d), "that one is recorded")

	restarted := after(job, plan(t, job, kt.At(100*time.Millisecond), pods[1], kt.Pod(job, "worker", 2, kt.Exited(1))))
	require.EqualValues(t, 1, restarted.Status.BackoffCount)
	require.Equal(t, restarted.Status, plan(t, restarted, soon, pods[:2]...).Status, "beside a restart of another, too")

	over := append(kt.Pods(job, "worker", 2, kt.Exited(0)), kt.Pod(job, "worker", 2, kt.Exited(0), kt.Released))
	done := after(job, plan(t, job, soon, over...))
	require.Equal(t, v1beta1.JobSucceeded, done.Status.Phase)
	require.Equal(t, []string{"ReleasePod worker-0", "ReleasePod worker-1"}, did(plan(t, done, kt.At(400*time.Millisecond), over[:2]...)),
		"nothing is postponed in a job that has finished")

	for name, c := range map[string]struct {
		job  *v1beta1.GenericJob
		pods []*corev1.Pod
		want string
	}{
		"it decides":                       {job, kt.Pods(job, "worker", 3, kt.Exited(0)), "0-2"},
		"another fails":                    {job, append([]*corev1.Pod{kt.Pod(job, "worker", 1, kt.Exited(1))}, pods[0], pods[2]), "0"},
		"the spec has changed":             {kt.Edited(job, kt.BackoffLimit(1)), pods, "0"},
		"somebody waits for its pod to go": {job, append(with(pods[:1], kt.Deleted(soon, 30*time.Second)), pods[1:]...), "0"},
		"somebody took its finalizer":      {job, append(with(pods[:1], kt.Released), pods[1:]...), "0"},
		"the job is paused":                {kt.Edited(job, kt.PauseNow(true)), pods, "0"},
		"the phase changes":                {begun, pods, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, ledger(plan(t, c.job, soon, c.pods...).Status, "worker").Succeeded)
		})
	}
}
