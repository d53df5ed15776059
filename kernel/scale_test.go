package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

func TestScaling(t *testing.T) {
	job, pods := running(t, 4, kt.Type("worker", 4, kt.Policy(onFailure, 2)))
	up := kt.Edited(job, kt.Replicas("worker", 6))
	d := plan(t, up, kt.At(time.Minute), pods...)
	require.Equal(t, []string{"CreatePod worker-4@0", "CreatePod worker-5@0"}, did(d))

	down := kt.Edited(job, kt.Replicas("worker", 2))
	d = plan(t, down, kt.At(time.Minute), pods...)
	require.Equal(t, []string{"ReleasePod worker-2", "DeletePod worker-2", "ReleasePod worker-3", "DeletePod worker-3"}, did(d))
	require.Equal(t, v1beta1.Aggregate{Running: 2}, d.Status.Aggregate)
	require.Len(t, d.Status.Tasks[0].Replicas, 2)
	down = after(down, d)
	require.Empty(t, did(plan(t, down, kt.At(time.Minute), append(pods[:2:2], with(pods[2:], kt.Released, kt.Deleted(kt.Start, 30*time.Second))...)...)))

	// A pod of the first life that still terminates must not be taken for one of the second.
	again := kt.Edited(down, kt.Replicas("worker", 4))
	d = plan(t, again, kt.At(time.Minute), append(pods[:2:2], with(pods[2:3], kt.Exited(1), kt.Deleted(kt.Start, 30*time.Second))...)...)
	require.Equal(t, []string{"ReleasePod worker-2", "CreatePod worker-3@1"}, did(d))
	require.Zero(t, d.Status.BackoffCount)
	d = plan(t, again, kt.At(time.Minute), pods[:2]...)
	require.Equal(t, []string{"CreatePod worker-2@1", "CreatePod worker-3@1"}, did(d))
}

func TestScalingForgetsOutcomesOfRanksThatGo(t *testing.T) {
	job := kt.Job(kt.Type("worker", 4), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	pods := exits(job, map[string][]int32{"worker": {alive, 0, 0, 1}})
	job = after(job, plan(t, job, kt.Start, pods...))
	require.Equal(t, "1-2", ledger(job.Status, "worker").Succeeded)
	job = kt.Edited(job, kt.Replicas("worker", 2))
	job = after(job, plan(t, job, kt.Start, pods...))
	l := ledger(job.Status, "worker")
	require.Equal(t, "1", l.Succeeded)
	require.Empty(t, l.Failed)
	job = kt.Edited(job, kt.Replicas("worker", 4))
	require.Equal(t, []string{"ReleasePod worker-1", "CreatePod worker-2@1", "CreatePod worker-3@1"}, did(plan(t, job, kt.Start, pods[0], pods[1])))
}

func TestScalingBelowARankThatRulesNameIsRefused(t *testing.T) {
	job, pods := running(t, 4, kt.Type("worker", 4), success(v1beta1.FinishRule{"worker": ranks(0, 2)}))
	down := kt.Edited(job, kt.Replicas("worker", 1))
	d := plan(t, down, kt.At(time.Minute), pods...)
	require.Equal(t, []string{"ReleasePod worker-3", "DeletePod worker-3"}, did(d))
	blocked := condition(d.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonScaleRefused, blocked.Reason)
	require.Equal(t, "spec.replicaSpecs[worker].replicas is 1, but the job's rules name rank 2: it keeps 3. Set replicas to 3 or more.", blocked.Message)
	require.Contains(t, d.Events, kernel.Event{Warning: true, Reason: "ScaleRefused", Message: blocked.Message})
	mended := kt.Edited(after(down, d), kt.Replicas("worker", 3))
	require.Empty(t, condition(plan(t, mended, kt.At(2*time.Minute), pods[:3]...).Status, v1beta1.ConditionBlocked))
}

// All pods of a job must agree on its size: those that are there keep their variables.
func TestAPodThatIsMadeWhileAScaleIsRefusedCountsTheRanksThatAreKept(t *testing.T) {
	texts := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Args = []string{"$(replicas[worker])", "$(replicas[*])", "$(index)", "$(service.worker.hosts)"}
	})
	job := kt.Job(kt.WithService(), kt.Type("worker", 3, kt.Policy(onFailure, 2), texts), kt.Type("ps", 1, texts), success(v1beta1.FinishRule{"worker": ranks(0, 2)}), kt.Begun)
	pods := kt.Pods(job, "worker", 3, kt.Running)
	job = after(job, plan(t, job, kt.Start, pods...))
	before := kt.Pod(job, "worker", 2).Spec.Containers[0].Args
	require.Equal(t, []string{"3", "4", "2", "job-worker-0,job-worker-1,job-worker-2"}, before)
	down := kt.Edited(job, kt.Replicas("worker", 1))
	d := plan(t, down, kt.At(time.Minute), append(pods[:2:2], with(pods[2:], kt.Exited(1))...)...)
	require.Equal(t, before, kt.Pod(after(down, d), "worker", 2).Spec.Containers[0].Args)
	require.Equal(t, "3", kt.Pod(after(down, d), "ps", 0).Spec.Containers[0].Args[2], "no other replica has that index")
}

// A variable may name a rank that was scaled away: its host name still has a meaning.
func TestScaledDownJobMayBePausedResumedAndDebugged(t *testing.T) {
	for name, edits := range map[string][]kt.JobOption{
		"pause and resume": {kt.PauseNow(true), kt.PauseNow(false)}, "debug and back": {kt.DebugNow(true), kt.DebugNow(false)},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 3, kt.WithService(), kt.Type("worker", 3, kt.Template(func(p *corev1.PodTemplateSpec) {
				p.Spec.Containers[0].Args = []string{"$(service.worker[2].host)"}
			})))
			job = kt.Edited(job, kt.Replicas("worker", 2))
			job = after(job, plan(t, job, kt.Start, pods[:2]...))
			for _, edit := range edits {
				job = kt.Edited(job, edit)
				d := plan(t, job, kt.Start)
				require.Nil(t, d.Status.CompletionTime, condition(d.Status, v1beta1.ConditionFailed).Message)
				require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked))
				job = after(job, d)
			}
			require.Equal(t, []string{"job-worker-2.job.ns.svc.cluster.local"}, kt.Pod(job, "worker", 0).Spec.Containers[0].Args)
		})
	}
}
