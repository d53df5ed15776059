package kernel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Choices that translators make for their users: names of pods, labels by rank, rules about any rank, no limit.

func plainNames(job *v1beta1.GenericJob) { job.Spec.PodNames = v1beta1.PodNamesPlain }

func TestPlainPodNames(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), plainNames, kt.Begun)
	pod := kt.Pod(job, "worker", 1)
	require.Equal(t, "job-worker-1", pod.Name)
	require.Equal(t, pod.Name, pod.Spec.Hostname)
	require.Equal(t, pod.Name, spec.PodName(job, "worker", 1))
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Running))
	require.Equal(t, "2/2", d.Status.Running)
	require.Equal(t, "job-worker-1", d.Status.Tasks[0].Replicas[1].Name)

	named := job.DeepCopy()
	named.Spec.PodNames = v1beta1.PodNamesHashed
	require.Regexp(t, "^job-[0-9a-f]{5}-worker-1$", spec.PodName(named, "worker", 1))
}

// Names may change in a pause. A pod from before is still ours: its outcome counts and its finalizer goes.
func TestPodsFromBeforeTheyWereNamedOtherwise(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	pod := kt.Pod(job, "worker", 0, kt.Exited(0))
	d := plan(t, kt.Edited(job, plainNames), kt.Start, pod)
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Contains(t, did(d), "ReleasePod worker-0")
	require.NotContains(t, did(d), "CreatePod worker-0@0")
	stranger := kt.Pod(job, "worker", 0, kt.Exited(0))
	stranger.Name = "job-other-worker-0"
	d = plan(t, job, kt.Start, stranger)
	require.Empty(t, ledger(d.Status, "worker").Succeeded)
}

func TestLabelsByRank(t *testing.T) {
	job := kt.Job(kt.Type("ps", 3), kt.Type("worker", 2, kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Labels = map[string]string{
			"index": "$(rank)", "role": "$(onRank[1].leader)", "type": "$(type)", "of": "$(replicas[worker])", "all": "$(replicas[*])",
			"empty": "", "none": "$(onRank[7].x)", v1beta1.LabelJobUID: "$(rank)",
		}
		p.Annotations = map[string]string{"mine": "$(rank)"}
	})))
	for rank, role := range []string{"", "leader"} {
		pod := kt.Pod(job, "worker", rank)
		require.Equal(t, []string{"0", "1"}[rank], pod.Labels["index"])
		require.Equal(t, "worker", pod.Labels["type"])
		require.Equal(t, "2", pod.Labels["of"])
		require.Equal(t, "5", pod.Labels["all"])
		require.Equal(t, role, pod.Labels["role"])
		_, has := pod.Labels["role"]
		require.Equal(t, role != "", has, "a label without a value on this rank is left out")
		require.NotContains(t, pod.Labels, "none")
		require.Contains(t, pod.Labels, "empty", "what the user left empty stays")
		require.Equal(t, "job-uid", pod.Labels[v1beta1.LabelJobUID])
		require.Equal(t, "$(rank)", pod.Annotations["mine"], "annotations are the user's text")
	}
}

func TestVariablesOfAllTypes(t *testing.T) {
	job := kt.Job(kt.Type("ps", 3), kt.Type("worker", 2, kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Args = []string{
			"$(replicas[*])", "$(replicas[*]*4)", "$(replicas[*]*0)", "$(onRank[1].--chief)", "$(onRank[1].a$(type))",
			"$(var[rank])", "$(var[type])/$(type)", "$$(var[rank])", "$(onRank[x].a)",
		}
	})))
	require.Equal(t, []string{"5", "20", "$(replicas[*]*0)", "--chief", "$(onRank[1].aworker)", "$(rank)", "$(type)/worker", "$$(var[rank])", "$(onRank[x].a)"},
		kt.Pod(job, "worker", 1).Spec.Containers[0].Args)
	require.Empty(t, kt.Pod(job, "worker", 0).Spec.Containers[0].Args[3])
}

func TestRulesAboutAnyRank(t *testing.T) {
	anyWorker := v1beta1.FinishRule{"worker": {intstr.FromString(v1beta1.AnyRank)}}
	succeeds := kt.Job(kt.Type("worker", 3), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = []v1beta1.FinishRule{anyWorker} }), kt.Begun)
	pods := kt.Pods(succeeds, "worker", 3, kt.Running)
	require.Nil(t, plan(t, succeeds, kt.Start, pods...).Status.CompletionTime)
	pods[2] = kt.Pod(succeeds, "worker", 2, kt.Exited(0))
	require.Equal(t, v1beta1.JobSucceeded, plan(t, succeeds, kt.Start, pods...).Status.Phase)
	failed := kt.Pods(succeeds, "worker", 3, kt.Exited(1))
	d := plan(t, succeeds, kt.Start, failed[:2]...)
	require.Nil(t, d.Status.CompletionTime, "one is left that may yet succeed")
	d = plan(t, succeeds, kt.Start, failed...)
	require.Equal(t, v1beta1.ReasonSuccessUnreachable, condition(d.Status, v1beta1.ConditionFailed).Reason)

	fails := kt.Job(kt.Type("worker", 3), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.FailureRules = []v1beta1.FinishRule{anyWorker} }), kt.Begun)
	pods = kt.Pods(fails, "worker", 3, kt.Running)
	require.Nil(t, plan(t, fails, kt.Start, pods...).Status.CompletionTime)
	pods[2] = kt.Pod(fails, "worker", 2, kt.Exited(1))
	d = plan(t, fails, kt.Start, pods...)
	require.Equal(t, v1beta1.ReasonFailed, condition(d.Status, v1beta1.ConditionFailed).Reason)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, `{"worker":["any"]}`)

	scaled := kt.Edited(fails, kt.Replicas("worker", 1))
	d = plan(t, scaled, kt.Start, kt.Pods(fails, "worker", 3, kt.Running)...)
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked).Reason, "the rule names no rank that would have to stay")
}

func TestNoLimitIsNotCounted(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.BackoffLimit(math.MaxInt32), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(1)))
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.NotContains(t, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, "2147483647")
}

func TestRunningOfAJobThatIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		policy v1beta1.CleanUpPolicy
		ends   []kt.PodOption
		want   string
	}{
		"all have succeeded":   {v1beta1.CleanUpNone, []kt.PodOption{kt.Exited(0), kt.Exited(0)}, ""},
		"one was left running": {v1beta1.CleanUpNone, []kt.PodOption{kt.Exited(1), kt.Running}, "1 left"},
		"none was left":        {v1beta1.CleanUpAll, []kt.PodOption{kt.Exited(1), kt.Running}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			job, _ := running(t, 2, kt.Type("worker", 2), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = tc.policy }))
			pods := []*corev1.Pod{kt.Pod(job, "worker", 0, tc.ends[0]), kt.Pod(job, "worker", 1, tc.ends[1])}
			job = after(job, plan(t, job, kt.At(time.Minute), pods...))
			require.NotNil(t, job.Status.CompletionTime)
			if tc.policy == v1beta1.CleanUpAll {
				pods = nil
			}
			require.Equal(t, tc.want, plan(t, job, kt.At(2*time.Minute), pods...).Status.Running)
		})
	}
}
