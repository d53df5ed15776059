package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// makeAuxiliary says in the spec whether the replicas of the type store only serve the others.
func makeAuxiliary(is bool) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Auxiliary = is })
}

// A pause allows to edit what a type is for. What its replicas have done as members of the job counts for nothing then: each has to serve again.
func TestATypeThatBecomesAuxiliaryInAPauseHasNoOutcomes(t *testing.T) {
	for name, code := range map[string]int32{"it had succeeded": 0, "it had failed for good": 1} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("store", 1), kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": nil}), kt.Begun)
			workers := kt.Pods(job, "worker", 2, kt.Running)
			job = after(job, plan(t, job, kt.At(time.Minute), append(workers, kt.Pod(job, "store", 0, kt.Exited(code)))...))
			require.NotEmpty(t, ledger(job.Status, "store").Succeeded+ledger(job.Status, "store").Failed)
			job = kt.Edited(job, kt.PauseNow(true))
			job = after(job, plan(t, job, kt.At(2*time.Minute)))
			require.Equal(t, v1beta1.JobPaused, job.Status.Phase)

			job = kt.Edited(job, makeAuxiliary(true), kt.PauseNow(false))
			d := plan(t, job, kt.At(3*time.Minute))
			require.Contains(t, did(d), "CreatePod store-0@1")
			job = after(job, d)
			workers = kt.Pods(job, "worker", 2, kt.Running)
			d = plan(t, job, kt.At(4*time.Minute), workers[0], kt.Pod(job, "store", 0, kt.Running))
			require.Equal(t, "1/2", d.Status.Running)
			require.Equal(t, v1beta1.TimeStarting, d.Status.Time.Open.Cause, "one of two runs")
			d = plan(t, job, kt.At(4*time.Minute), append(workers, kt.Pod(job, "store", 0, kt.Running))...)
			require.Equal(t, "2/2", d.Status.Running)
		})
	}
}

func TestATypeThatIsNotAuxiliaryAnyMoreHasToSucceed(t *testing.T) {
	job := kt.Job(kt.Type("store", 1, auxiliary), kt.Type("worker", 1), kt.Begun)
	worker := kt.Pod(job, "worker", 0, kt.Running)
	job = after(job, plan(t, job, kt.At(time.Minute), worker, kt.Pod(job, "store", 0, kt.Exited(0))))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.At(2*time.Minute)))
	require.Equal(t, v1beta1.JobPaused, job.Status.Phase)

	job = kt.Edited(job, makeAuxiliary(false), kt.PauseNow(false))
	d := plan(t, job, kt.At(3*time.Minute))
	require.Contains(t, did(d), "CreatePod store-0@1")
	job = after(job, d)
	worker = kt.Pod(job, "worker", 0, kt.Exited(0))
	d = plan(t, job, kt.At(4*time.Minute), worker, kt.Pod(job, "store", 0, kt.Running))
	require.Equal(t, "1/1", d.Status.Running)
	require.NotEqual(t, v1beta1.JobSucceeded, d.Status.Phase)
	d = plan(t, job, kt.At(4*time.Minute), worker, kt.Pod(job, "store", 0, kt.Exited(0)))
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
}
