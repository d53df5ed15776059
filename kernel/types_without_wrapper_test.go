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

// withoutCommand has the pods of these types run without a wrapper.
func withoutCommand(list ...string) kt.JobOption {
	return func(job *v1beta1.GenericJob) {
		for i := range job.Spec.ReplicaSpecs {
			for _, t := range list {
				if r := &job.Spec.ReplicaSpecs[i]; r.Type == t {
					r.Template.Spec.Containers[0].Command = nil
				}
			}
		}
	}
}

// reports are those of pods that have reached an attempt.
func reports(attempt int, pods ...*corev1.Pod) map[types.UID]inplace.Report {
	list := map[types.UID]inplace.Report{}
	for _, p := range pods {
		list[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: attempt, Exits: int(p.Status.ContainerStatuses[0].RestartCount)}
	}
	return list
}

func TestATypeWithoutWrapperDoesNotMeetAnEarlierStart(t *testing.T) {
	for name, typeNames := range map[string][]string{"after the others": {"worker", "server", "chief"}, "before the others": {"chief", "server", "worker"}} {
		t.Run(name, func(t *testing.T) {
			replicas := map[string]int32{"worker": 2, "server": 1, "chief": 1}
			options := []kt.JobOption{}
			for _, r := range typeNames {
				options = append(options, kt.Type(r, replicas[r]))
			}
			job := kt.Job(append(options, kt.InPlace, withoutCommand("server", "chief"), kt.JobScope, kt.BackoffLimit(3), kt.Begun)...)
			workers := kt.Pods(job, "worker", 2, kt.Running, withIP)
			others := []*corev1.Pod{kt.Pod(job, "server", 0, kt.Running), kt.Pod(job, "chief", 0, kt.Running)}
			job = after(job, plan(t, job, kt.Start, append(deepCopies(workers), others...)...))
			failed := append(with(workers[:1], startedAgain(1, 9)), workers[1])
			job = after(job, plan(t, job, kt.At(time.Minute), append(deepCopies(failed), others...)...))

			w := kernel.World{Job: job, Pods: with(failed, told(1, 1)), Now: kt.At(time.Minute + time.Second), Settings: kt.Settings}
			require.Empty(t, did(planWorld(t, w)), "worker-1 is in its grace period still: it would meet what is made now")
			w.Reports = reports(1, w.Pods[0])
			require.Empty(t, did(planWorld(t, w)))

			w.Reports = reports(1, w.Pods...)
			stays := append(deepCopies(w.Pods), others[0])
			d := planWorld(t, kernel.World{Job: job, Pods: stays, Now: w.Now, Settings: kt.Settings, Reports: w.Reports})
			require.NotContains(t, did(d), "CreatePod chief-0@1", "the server of the earlier start is there")
			d = planWorld(t, w)
			require.ElementsMatch(t, []string{"CreatePod server-0@1", "CreatePod chief-0@1"}, did(d))
			require.EqualValues(t, 0, d.Status.InPlace.StartedJobAttempt, "an earlier pod of theirs may be there, and not in view")

			job = after(job, d)
			w.Job = job
			w.Pods = append(w.Pods, kt.Pod(job, "server", 0), kt.Pod(job, "chief", 0))
			d = planWorld(t, w)
			require.EqualValues(t, 1, d.Status.InPlace.StartedJobAttempt)
			require.Equal(t, map[string]string{"0": "attempt=1 go=1 jobAttempt=1", "1": "attempt=1 go=1 jobAttempt=1"}, orders(d))
		})
	}
}

// One that fails before the others have gone on is another restart, and they stay where they are.
func TestATypeWithoutWrapperThatFailsWhileTheOthersWait(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Type("server", 2), kt.InPlace, withoutCommand("server"), kt.JobScope, kt.BackoffLimit(3), kt.Begun)
	worker := kt.Pod(job, "worker", 0, kt.Running, startedAgain(1, 9))
	job = after(job, plan(t, job, kt.Start, append(kt.Pods(job, "server", 2, kt.Running), kt.Pod(job, "worker", 0, kt.Running))...))
	job = after(job, plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "server", 2, kt.Running), worker)...))
	waits := with([]*corev1.Pod{worker}, told(1, 1))
	w := kernel.World{Job: job, Pods: append(waits, kt.Pod(job, "server", 0, kt.Exited(1))), Now: kt.At(time.Minute + 5*time.Second), Settings: kt.Settings, Reports: reports(1, waits...)}
	d := planWorld(t, w)
	require.Equal(t, []int32{2, 2, 0}, []int32{d.Status.BackoffCount, d.Status.JobAttempt, d.Status.InPlace.StartedJobAttempt})
	require.NotContains(t, did(d), "CreatePod server-1@1")
}

// Without a wrapper for any type all pods are made anew, as with Recreate.
func TestAJobInPlaceWithoutAnyWrapperStartsOver(t *testing.T) {
	job := kt.Job(kt.Type("server", 2), kt.InPlace, withoutCommand("server"), kt.JobScope, kt.BackoffLimit(3), kt.Begun)
	pods := append(kt.Pods(job, "server", 1, kt.Exited(1)), kt.Pod(job, "server", 1, kt.Running))
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.NotContains(t, did(d), "CreatePod server-0@1")
	d = plan(t, after(job, d), kt.At(time.Minute+time.Second))
	require.Equal(t, []string{"CreatePod server-0@1", "CreatePod server-1@1"}, did(d))
	job = after(job, d)
	require.EqualValues(t, 1, plan(t, job, kt.At(2*time.Minute), kt.Pods(job, "server", 2, kt.Running)...).Status.InPlace.StartedJobAttempt)
}

// Its success and the restart of all may come into view in either order.
func TestATypeWithoutWrapperThatHasFinishedIsNoMemberOfTheNextStart(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Type("server", 1), kt.InPlace, withoutCommand("server"), kt.JobScope, kt.BackoffLimit(3), kt.Begun)
	workers := kt.Pods(job, "worker", 2, kt.Running, withIP)
	job = after(job, plan(t, job, kt.Start, append(deepCopies(workers), kt.Pod(job, "server", 0, kt.Running))...))
	failed := append(with(workers[:1], startedAgain(1, 9)), workers[1])
	d := plan(t, job, kt.At(time.Minute), append(deepCopies(failed), kt.Pod(job, "server", 0, kt.Running))...)
	require.Equal(t, []string{"OrderPod worker-0", "OrderPod worker-1", "StopPod server-0"}, did(d))
	job = after(job, d)
	waits := with(failed, told(1, 1))
	d = planWorld(t, kernel.World{Job: job, Pods: append(waits, kt.Pod(kt.Edited(job, func(j *v1beta1.GenericJob) { j.Status.JobAttempt = 0 }), "server", 0, kt.Exited(0))),
		Now: kt.At(time.Minute + time.Second), Settings: kt.Settings, Reports: reports(1, waits...)})
	require.Equal(t, "0", ledger(d.Status, "server").Succeeded)
	require.EqualValues(t, 1, d.Status.InPlace.StartedJobAttempt)
}
