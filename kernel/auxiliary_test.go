package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// auxiliary has the replicas of a task only serve the others.
func auxiliary(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }

func TestAnAuxiliaryReplicaIsReplacedAndNoLimitCountsIt(t *testing.T) {
	for name, ends := range map[string][]kt.PodOption{
		"a failure":    {kt.Exited(1)},
		"a success":    {kt.Exited(0)},
		"a disruption": {kt.Exited(137), kt.Disrupted},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.BackoffLimit(0), kt.Task("worker", 1), kt.Task("store", 1, auxiliary), kt.Begun)
			worker := kt.Pod(job, "worker", 0, kt.Running)
			for attempt := 1; attempt <= 3; attempt++ {
				now := kt.At(time.Duration(attempt) * time.Hour)
				job = after(job, plan(t, job, now, worker, kt.Pod(job, "store", 0, append(ends, kt.StartedAt(now))...)))
				require.Zero(t, job.Status.BackoffCount)
				require.Empty(t, ledger(job.Status, "store").Succeeded)
				require.Empty(t, ledger(job.Status, "store").Failed)
				d := plan(t, job, now.Add(10*time.Minute), worker)
				require.Len(t, d.Actions, 1)
				require.Equal(t, kernel.CreatePod, d.Actions[0].Verb)
				require.Equal(t, attempt, d.Actions[0].Attempt)
				job = after(job, d)
			}
			require.Equal(t, v1beta1.JobRunning, after(job, plan(t, job, kt.At(9*time.Hour), worker, kt.Pod(job, "store", 0, kt.Running))).Status.Phase)
		})
	}
}

func TestAnAuxiliaryReplicaDecidesNothing(t *testing.T) {
	job := kt.Job(kt.Task("worker", 2), kt.Task("store", 1, auxiliary), kt.Begun)
	store := kt.Pod(job, "store", 0, kt.Running)
	job = after(job, plan(t, job, kt.Start, append(kt.Pods(job, "worker", 2, kt.Running), store)...))
	require.Equal(t, "2/2", job.Status.Running)
	require.Equal(t, v1beta1.Aggregate{Running: 2}, job.Status.Aggregate)
	require.Len(t, job.Status.Tasks, 2, "who looks for it finds it")

	d := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Exited(0)), store)...)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.Contains(t, did(d), "DeletePod store-0", "cleanUpPolicy None keeps what trains")
	require.NotContains(t, condition(d.Status, v1beta1.ConditionSucceeded).Message, "left")

	waits := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "store", 0))...)
	require.Contains(t, condition(waits.Status, v1beta1.ConditionRunning).Message, "store-0")
}

func TestAnAuxiliaryReplicaIsReplacedAloneInAJobScope(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(1), kt.Task("worker", 2), kt.Task("store", 1, auxiliary), kt.Begun)
	workers := kt.Pods(job, "worker", 2, kt.Running)
	d := plan(t, job, kt.Start, append(workers, kt.Pod(job, "store", 0, kt.Exited(1)))...)
	require.Equal(t, []string{"ReleasePod store-0", "DeletePod store-0"}, did(d))
	require.Zero(t, d.Status.Attempt)
	require.NotContains(t, d.Events[0].Message, "all replicas")

	both := append(kt.Pods(job, "worker", 1, kt.Exited(1)), workers[1], kt.Pod(job, "store", 0, kt.Exited(1)))
	d = plan(t, job, kt.Start, both...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.EqualValues(t, 1, d.Status.Attempt)
	require.Len(t, did(d), 6, "a restart of the whole job takes it along")
}

func TestTheLeastOfAGangIsOfThoseThatAreNotAuxiliary(t *testing.T) {
	minimum := int32(2)
	job := kt.Job(kt.Task("worker", 4), kt.Task("store", 1, auxiliary), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{MinMember: &minimum, T9kScheduler: &v1beta1.T9kScheduler{Queue: "q"}}
	}), kt.Begun)
	d := plan(t, job, kt.Start)
	for _, a := range d.Actions {
		if a.Verb == kernel.ApplyObject {
			require.EqualValues(t, 3, kt.Minimum(a.Object))
			return
		}
	}
	t.Fatal("no PodGroup")
}

func TestDebugModeLeavesAnAuxiliaryReplicaAsItIs(t *testing.T) {
	job := kt.Job(kt.Task("worker", 1), kt.Task("store", 1, auxiliary), kt.DebugNow(true), kt.Begun)
	builder := kernel.NewBuilder(job, kt.Settings)
	require.Equal(t, []string{"sleep", "inf"}, builder.Pod(kernel.Action{Type: "worker"}).Spec.Containers[0].Command)
	require.Empty(t, builder.Pod(kernel.Action{Type: "store"}).Spec.Containers[0].Command)
}

func TestAJobOfAuxiliaryReplicasAloneIsInvalid(t *testing.T) {
	job := kt.Job(kt.Task("store", 1, auxiliary))
	d := plan(t, job, kt.Start)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "every type is auxiliary")

	job = kt.Job(kt.Task("worker", 1), kt.Task("store", 1, auxiliary), success(v1beta1.FinishRule{"store": ranks(0)}))
	d = plan(t, job, kt.Start)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "spec.successRules[0].store: this type is auxiliary")
}
