package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// ranks is a rank list of integers.
func ranks(list ...int32) v1beta1.RankList {
	out := v1beta1.RankList{}
	for _, r := range list {
		out = append(out, intstr.FromInt32(r))
	}
	return out
}

func success(rules ...v1beta1.FinishRule) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = rules })
}

func failure(rules ...v1beta1.FinishRule) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.FailureRules = rules })
}

func deadline(seconds int64) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = &seconds })
}

// alive stands for the exit code of a replica that still runs.
const alive = -1

// exits has replicas exit with codes: {"worker": {0, 1}} is worker-0 with 0 and worker-1 with 1.
func exits(job *v1beta1.GenericJob, codes map[string][]int32) []*corev1.Pod {
	var pods []*corev1.Pod
	for replicaType, list := range codes {
		for rank, code := range list {
			option := kt.PodOption(kt.Running)
			if code != alive {
				option = kt.Exited(code)
			}
			pods = append(pods, kt.Pod(job, replicaType, rank, option))
		}
	}
	return pods
}

func TestAlreadyFinishedIsAbsorbing(t *testing.T) {
	begun := kt.Job(kt.Type("worker", 2), kt.Begun)
	tests := map[string]struct {
		finish map[string][]int32
		phase  v1beta1.JobPhase
	}{
		"succeeded": {map[string][]int32{"worker": {0, 0}}, v1beta1.JobSucceeded},
		"failed":    {map[string][]int32{"worker": {1, 0}}, v1beta1.JobFailed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, begun, kt.Start, exits(begun, tc.finish)...)
			require.Equal(t, tc.phase, d.Status.Phase)
			require.Equal(t, kt.Start, d.Status.CompletionTime.Time)
			job := after(begun, d)
			// Whatever comes now, pods gone, other outcomes, a pause, a deadline, more replicas: nothing is made, nothing counted.
			later := map[string]struct {
				job  *v1beta1.GenericJob
				pods []*corev1.Pod
			}{
				"pods are gone":       {job: job},
				"pods tell otherwise": {job: job, pods: exits(begun, map[string][]int32{"worker": {2, 2}})},
				"pods run":            {job: job, pods: kt.Pods(begun, "worker", 2, kt.Running)},
				"paused":              {job: kt.Edited(job, kt.PauseNow(true))},
				"debugged":            {job: kt.Edited(job, kt.DebugNow(true))},
				"deadline":            {job: kt.Edited(job, deadline(1))},
				"scaled up":           {job: kt.Edited(job, kt.Replicas("worker", 5))},
				"spec made invalid":   {job: kt.Edited(job, success(v1beta1.FinishRule{"nobody": nil}))},
			}
			for name, later := range later {
				t.Run(name, func(t *testing.T) {
					e := plan(t, later.job, kt.At(time.Hour), later.pods...)
					require.Equal(t, tc.phase, e.Status.Phase)
					require.Equal(t, job.Status.CompletionTime, e.Status.CompletionTime)
					require.Equal(t, job.Status.Ledger, e.Status.Ledger)
					require.Equal(t, job.Status.Conditions, e.Status.Conditions)
					for _, a := range e.Actions {
						require.False(t, a.Verb.Creates(), a)
					}
				})
			}
		})
	}
}

func TestInvalidSpec(t *testing.T) {
	worker := kt.Type("worker", 2)
	command := func(text string) kt.JobOption {
		return kt.Type("worker", 2, kt.Template(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Command = []string{text} }))
	}
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		want string
	}{
		"no replica spec":       {kt.Job(), "spec.replicaSpecs is empty: give at least one replica spec"},
		"a type twice":          {kt.Job(worker, worker), `spec.replicaSpecs: type "worker" is listed twice: types must be unique`},
		"no replicas":           {kt.Job(kt.Type("worker", 0)), "spec.replicaSpecs[worker].replicas is 0: want a number from 1 to 10000, or remove the replica spec"},
		"a type with a capital": {kt.Job(kt.Type("Worker", 1)), `spec.replicaSpecs[Worker]: the host name "job-Worker-0"`},
		"a long name": {kt.Job(worker, func(j *v1beta1.GenericJob) { j.Name = "a123456789-123456789-123456789-123456789-123456789-12345" }),
			"is not allowed (must be no more than 63 characters): change metadata.name or the type"},
		"a dot in the name":     {kt.Job(worker, func(j *v1beta1.GenericJob) { j.Name = "a.b" }), `the host name "a.b-worker-1"`},
		"an empty success rule": {kt.Job(worker, success(v1beta1.FinishRule{})), `spec.successRules[0] is empty: name a replica type and its ranks, as in {"worker": [0]}`},
		"an empty failure rule": {kt.Job(worker, failure(v1beta1.FinishRule{"worker": nil}, v1beta1.FinishRule{})), "spec.failureRules[1] is empty"},
		"a rule that names no type": {kt.Job(worker, kt.Type("ps", 1), success(v1beta1.FinishRule{"chief": nil})),
			"spec.successRules[0].chief: no replica spec has this type: want one of [worker ps]"},
		"a rule that names no rank": {kt.Job(worker, failure(v1beta1.FinishRule{"worker": ranks(0, 2)})),
			"spec.failureRules[0].worker: rank 2 does not exist: ranks of worker go from 0 to 1"},
		"a rank that is no number": {kt.Job(worker, failure(v1beta1.FinishRule{"worker": {intstr.FromString("all")}})),
			`spec.failureRules[0].worker: "all" is not a rank: want a number`},
		"a variable that names no type": {kt.Job(command("$(replicas[ps])")),
			`spec.replicaSpecs[worker].template: container main: $(replicas[ps]) names type "ps": want one of [worker]`},
		"the first of two bad variables is told": {kt.Job(kt.Type("worker", 2, kt.Template(func(p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Args = []string{"$(replicas[ps])", "$(replicas[chief])", "fine"}
		}))), `$(replicas[ps]) names type "ps"`},
		"a bad variable in an init container": {kt.Job(kt.Type("worker", 2, kt.Template(func(p *corev1.PodTemplateSpec) {
			p.Spec.InitContainers = []corev1.Container{{Name: "init", Env: []corev1.EnvVar{{Name: "A", Value: "$(replicas[ps])"}}}}
		}))), "container init: $(replicas[ps])"},
		"a host without a service": {kt.Job(command("$(service.worker[0].host)")),
			"spec.replicaSpecs[worker].template: container main: $(service.worker[0].host) needs host names: set spec.service ({} will do)"},
		"a host beyond the last rank": {kt.Job(command("$(service.worker[2].host)"), kt.WithService()),
			"$(service.worker[2].host) names rank 2: ranks of worker go from 0 to 1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.Start)
			require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
			require.Nil(t, d.Status.StartTime)
			require.Empty(t, d.Actions)
			failed := condition(d.Status, v1beta1.ConditionFailed)
			require.Equal(t, metav1.ConditionTrue, failed.Status)
			require.Equal(t, v1beta1.ReasonInvalidSpec, failed.Reason)
			require.Contains(t, failed.Message, tc.want)
			require.Equal(t, metav1.ConditionFalse, condition(d.Status, v1beta1.ConditionInitialized).Status)
			require.Contains(t, d.Events, kernel.Event{Warning: true, Reason: v1beta1.ReasonInvalidSpec, Message: failed.Message})
		})
	}
}

func TestRejectedByCluster(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	told := kernel.RecordRefusals(kernel.World{Job: job, Now: kt.Start}, kernel.Decision{}, []kernel.Refusal{{
		Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Reason: v1beta1.ReasonCreateInvalid, Message: "spec.containers[0].image: Required value",
	}})
	d := plan(t, after(job, told), kt.Start)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	failed := condition(d.Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonInvalidSpec, failed.Reason)
	require.Contains(t, failed.Message, "spec.containers[0].image: Required value")
	require.Contains(t, failed.Message, "Correct the field in spec and create the job again.")
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked), "a job that has finished is not blocked")
	require.Empty(t, d.Actions)

	// A refusal for now fails nothing.
	told = kernel.RecordRefusals(kernel.World{Job: job, Now: kt.Start}, kernel.Decision{}, []kernel.Refusal{{Reason: v1beta1.ReasonCreateFailed, Message: "quota"}})
	d = plan(t, after(job, told), kt.Start)
	require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	require.Equal(t, []string{"CreatePod worker-0@0"}, did(d))
}

func TestFinishRules(t *testing.T) {
	two := []kt.JobOption{kt.Type("master", 1), kt.Type("worker", 2)}
	job := func(options ...kt.JobOption) *v1beta1.GenericJob {
		return kt.Job(append(append(options, two...), kt.Begun)...)
	}
	text := v1beta1.RankList{intstr.FromString("1")}
	tests := map[string]struct {
		job    *v1beta1.GenericJob
		exits  map[string][]int32
		phase  v1beta1.JobPhase
		reason string
	}{
		"Succeeded/no rules: all":            {job(), map[string][]int32{"master": {0}, "worker": {0, 0}}, v1beta1.JobSucceeded, "Succeeded"},
		"Succeeded/no rules: one is missing": {job(), map[string][]int32{"master": {0}, "worker": {0, alive}}, v1beta1.JobRunning, ""},
		"Succeeded/the rank that a rule names": {job(success(v1beta1.FinishRule{"master": ranks(0)})),
			map[string][]int32{"master": {0}, "worker": {alive, 1}}, v1beta1.JobSucceeded, "Succeeded"},
		"Succeeded/an empty list is every rank": {job(success(v1beta1.FinishRule{"worker": nil})),
			map[string][]int32{"master": {alive}, "worker": {0, 0}}, v1beta1.JobSucceeded, "Succeeded"},
		"Succeeded/an empty list needs every rank": {job(success(v1beta1.FinishRule{"worker": nil})),
			map[string][]int32{"master": {alive}, "worker": {0, alive}}, v1beta1.JobRunning, ""},
		"Succeeded/a numeric string": {job(success(v1beta1.FinishRule{"worker": text})),
			map[string][]int32{"master": {alive}, "worker": {alive, 0}}, v1beta1.JobSucceeded, "Succeeded"},
		"Succeeded/any of two rules": {job(success(v1beta1.FinishRule{"worker": nil}, v1beta1.FinishRule{"master": ranks(0)})),
			map[string][]int32{"master": {0}, "worker": {alive, alive}}, v1beta1.JobSucceeded, "Succeeded"},
		"Succeeded/a rule needs all its types": {job(success(v1beta1.FinishRule{"master": nil, "worker": ranks(0)})),
			map[string][]int32{"master": {0}, "worker": {alive, 0}}, v1beta1.JobRunning, ""},
		"Succeeded/wins over failure": {job(success(v1beta1.FinishRule{"master": nil}), failure(v1beta1.FinishRule{"worker": ranks(0)})),
			map[string][]int32{"master": {0}, "worker": {1, alive}}, v1beta1.JobSucceeded, "Succeeded"},
		"Failed/the rank that a rule names": {job(failure(v1beta1.FinishRule{"worker": ranks(1)}), success(v1beta1.FinishRule{"master": nil})),
			map[string][]int32{"master": {alive}, "worker": {alive, 7}}, v1beta1.JobFailed, "Failed"},
		"Failed/another rank does not": {job(failure(v1beta1.FinishRule{"worker": ranks(1)}), success(v1beta1.FinishRule{"master": nil})),
			map[string][]int32{"master": {alive}, "worker": {7, alive}}, v1beta1.JobRunning, ""},
		"Failed/an empty list is every rank": {job(failure(v1beta1.FinishRule{"worker": {}}), success(v1beta1.FinishRule{"master": nil})),
			map[string][]int32{"master": {alive}, "worker": {7, 8}}, v1beta1.JobFailed, "Failed"},
		"SuccessUnreachable/no rules: one failed": {job(), map[string][]int32{"master": {alive}, "worker": {alive, 1}}, v1beta1.JobFailed, "Failed"},
		"SuccessUnreachable/every rule": {job(success(v1beta1.FinishRule{"worker": nil}, v1beta1.FinishRule{"master": nil})),
			map[string][]int32{"master": {1}, "worker": {alive, 1}}, v1beta1.JobFailed, "SuccessUnreachable"},
		"SuccessUnreachable/one rule is left": {job(success(v1beta1.FinishRule{"worker": nil}, v1beta1.FinishRule{"master": nil})),
			map[string][]int32{"master": {alive}, "worker": {alive, 1}}, v1beta1.JobRunning, ""},
		"Failed wins over SuccessUnreachable": {job(failure(v1beta1.FinishRule{"worker": ranks(1)})),
			map[string][]int32{"master": {alive}, "worker": {alive, 1}}, v1beta1.JobFailed, "Failed"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.Start, exits(tc.job, tc.exits)...)
			require.Equal(t, tc.phase, d.Status.Phase)
			if tc.reason == "" {
				require.Nil(t, d.Status.CompletionTime)
				return
			}
			require.Equal(t, tc.reason, condition(d.Status, v1beta1.ConditionCompleted).Reason)
		})
	}
}

func TestMessagesOfAFailureAreT9ks(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), failure(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	d := plan(t, job, kt.Start, exits(job, map[string][]int32{"worker": {127, alive}})...)
	pod := spec.PodName(job, "worker", 0)
	require.Equal(t, `Pod[`+pod+`] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}. One pod was left as it was, for cleanUpPolicy is None: with Unfinished it would have been deleted.`,
		condition(d.Status, v1beta1.ConditionFailed).Message)
	c := condition(d.Status, v1beta1.ConditionReplicaFailure)
	require.Equal(t, v1beta1.ReasonErrorInPod, c.Reason)
	require.Contains(t, c.Message, "Pod["+pod+"] exited with error code 127")
}

func TestDeadlineExceeded(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), deadline(60), kt.Begun)
	running := kt.Pods(job, "worker", 1, kt.Running)
	job = after(job, plan(t, job, kt.Start, running...))

	d := plan(t, job, kt.At(59*time.Second), running...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Equal(t, time.Second, d.RequeueAfter, "a quiet job must fail on the second")

	d = plan(t, job, kt.At(time.Minute), running...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Equal(t, "DeadlineExceeded", condition(d.Status, v1beta1.ConditionFailed).Reason)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "which is 60")

	d = plan(t, job, kt.At(time.Hour), kt.Pods(job, "worker", 1, kt.Exited(0))...)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, "success that is seen in the same reconcile wins")
}

func TestDeadlineClockStopsWhilePaused(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), deadline(60), kt.Begun)
	job = after(job, plan(t, job, kt.Start, kt.Pods(job, "worker", 1, kt.Running)...))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.At(20*time.Second)))
	require.Equal(t, v1beta1.JobPaused, job.Status.Phase)

	d := plan(t, job, kt.At(time.Hour))
	require.Equal(t, v1beta1.JobPaused, d.Status.Phase)
	require.Zero(t, d.RequeueAfter)

	job = kt.Edited(job, kt.PauseNow(false))
	job = after(job, plan(t, job, kt.At(time.Hour)))
	require.Equal(t, v1beta1.JobResuming, job.Status.Phase)
	require.EqualValues(t, 3580, job.Status.PausedSeconds)
	require.Equal(t, 30*time.Second, plan(t, job, kt.At(time.Hour+10*time.Second), kt.Pods(job, "worker", 1)...).RequeueAfter)
	require.Equal(t, v1beta1.JobResuming, plan(t, job, kt.At(time.Hour+39*time.Second)).Status.Phase)
	require.Equal(t, v1beta1.JobFailed, plan(t, job, kt.At(time.Hour+40*time.Second)).Status.Phase)
}

func TestRunCreatesWhatIsMissing(t *testing.T) {
	job := kt.Job(kt.Type("master", 1), kt.Type("worker", 3), kt.WithService())
	d := plan(t, job, kt.Start)
	require.Equal(t, []string{"CreateService", "CreatePod master-0@0", "CreatePod worker-0@0", "CreatePod worker-1@0", "CreatePod worker-2@0"}, did(d))
	require.Equal(t, v1beta1.JobPending, d.Postponed.Status.Phase)
	require.Equal(t, kt.Start, d.Postponed.Status.StartTime.Time)

	job = kt.Job(kt.Type("master", 1), kt.Type("worker", 3), kt.Begun)
	d = plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 1), kt.Pod(job, "master", 0, kt.Exited(0)))
	require.Equal(t, []string{"ReleasePod master-0", "CreatePod worker-0@0", "CreatePod worker-2@0"}, did(d))
}
