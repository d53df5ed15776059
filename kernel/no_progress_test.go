package kernel_test

import (
	"fmt"
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

// stuckAfter has so many failures in a row without progress end a job.
func stuckAfter(rounds int32) kt.JobOption {
	return func(job *v1beta1.GenericJob) {
		watched(tells)(job)
		job.Spec.FailurePolicy = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: rounds}}
		job.Status.ObservedGeneration = job.Generation
	}
}

// fell is how the code of a pod has failed: by an exception, and with the highest step that its wrapper tells; "" for none.
func fell(at time.Time, exception, step string) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.ExitedAt(1, at)(p)
		words := "exception: " + exception + "\nkind: Exception\n"
		if step != "" {
			words += "step: " + step + "\n"
		}
		saying(words + "output:\n")(p)
	}
}

// series has the first replica of a job fail again and again, a minute apart, with these steps, and returns the job.
func series(t *testing.T, job *v1beta1.GenericJob, steps ...string) *v1beta1.GenericJob {
	t.Helper()
	for i, step := range steps {
		now := kt.At(time.Duration(i+1) * time.Minute)
		job = after(job, plan(t, job, now, kt.Pod(job, "worker", 0, fell(now, fmt.Sprintf("ValueError: of step %d", i), step))))
	}
	return job
}

func TestFailuresInARowWithoutProgressFailTheJob(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []string
		fails bool
		want  int32
	}{
		"no step is newer":                        {[]string{"100", "100", "100"}, true, 3},
		"none is told":                            {[]string{"none", "none", "none"}, true, 3},
		"it begins at an earlier one":             {[]string{"100", "90", "100"}, true, 3},
		"it moves":                                {[]string{"100", "101", "102", "103"}, false, 1},
		"it moves at last":                        {[]string{"100", "100", "101"}, false, 1},
		"it tells a first one":                    {[]string{"none", "none", "0"}, false, 1},
		"it has moved, and does not any more":     {[]string{"1", "100", "100", "100"}, true, 3},
		"two are no three":                        {[]string{"100", "100"}, false, 2},
		"nobody knows":                            {[]string{"", "", "", ""}, false, 0},
		"nobody knows one, which may be newer":    {[]string{"100", "100", "", "100"}, false, 1},
		"what is no step":                         {[]string{"100", "100", "-3"}, false, 0},
		"it has been newer since, and falls back": {[]string{"100", "200", "100", "100"}, true, 3},
	} {
		job := series(t, kt.Job(kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(3), kt.Begun), tc.steps...)
		if name == "it has been newer since, and falls back" {
			require.EqualValues(t, 200, *job.Status.NoProgress.Step, name)
		}
		require.Equal(t, tc.fails, job.Status.CompletionTime != nil, name)
		if tc.want == 0 {
			require.Nil(t, job.Status.NoProgress, name)
			continue
		}
		require.Equal(t, tc.want, job.Status.NoProgress.Rounds, name)
	}
}

func TestAJobWithoutProgressSaysSo(t *testing.T) {
	job := series(t, kt.Job(kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(2), kt.Begun), "100", "100")
	told := condition(job.Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonFailurePolicy, told.Reason)
	require.Contains(t, told.Message, `noProgress of failurePolicy fails the job: it failed 2 times in a row by this cause (Exception, ValueError, exit code 1 of type worker), and worker-0 told no step after 100. `+
		`No restart is made, whatever the limits leave. Correct the cause, or allow more rounds, and create the job again.`)
	require.EqualValues(t, 1, job.Status.BackoffCount, "the last is not restarted")
	job = series(t, kt.Job(kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(2), kt.Begun), "none", "none")
	require.Contains(t, condition(job.Status, v1beta1.ConditionFailed).Message, "and worker-0 told no step. ")
}

// A series is of failures that came one after the other, each of the code that the one before had started.
func TestWhatEndsASeries(t *testing.T) {
	job := func(options ...kt.JobOption) *v1beta1.GenericJob {
		return kt.Job(append([]kt.JobOption{kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(3), kt.Begun}, options...)...)
	}
	for name, between := range map[string]func(*v1beta1.GenericJob) *v1beta1.GenericJob{
		"a disruption": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			return after(j, plan(t, j, kt.At(3*m), kt.Pod(j, "worker", 0, kt.Exited(137), kt.Disrupted)))
		},
		"another exception": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			return after(j, plan(t, j, kt.At(3*m), kt.Pod(j, "worker", 0, fell(kt.At(3*m), "KeyError: 'x'", "100"))))
		},
		"another code": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			return after(j, plan(t, j, kt.At(3*m), kt.Pod(j, "worker", 0, kt.ExitedAt(3, kt.At(3*m)), saying("exception: ValueError: x\nkind: Exception\nstep: 100\noutput:\n"))))
		},
		"what follows from another": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			return after(j, plan(t, j, kt.At(3*m), kt.Pod(j, "worker", 0, fell(kt.At(3*m), "ValueError: x\nfollows: a peer closed its connection", "100"))))
		},
		"a pause": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			j.Status.ModeGeneration++
			return j
		},
		"progress that is shown": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			pod := kt.Pod(j, "worker", 0, kt.Running)
			return after(j, kernel.Plan(kernel.World{Job: j, Pods: []*corev1.Pod{pod}, Now: kt.At(time.Hour), Settings: kt.Settings, ProgressReport: inplace.Report{Step: "101"}}))
		},
		"the policy is taken away": func(j *v1beta1.GenericJob) *v1beta1.GenericJob {
			j.Spec.FailurePolicy.NoProgress = nil
			j = after(j, plan(t, j, kt.At(3*m), kt.Pod(j, "worker", 0, kt.Running)))
			j.Spec.FailurePolicy.NoProgress = &v1beta1.NoProgress{Rounds: 3}
			return j
		},
	} {
		one := series(t, job(), "100", "100")
		require.EqualValues(t, 2, one.Status.NoProgress.Rounds, name)
		one = between(one)
		now := kt.At(4 * m)
		one = after(one, plan(t, one, now, kt.Pod(one, "worker", 0, fell(now, "ValueError: x", "100"))))
		require.Nil(t, one.Status.CompletionTime, name)
		require.EqualValues(t, 1, one.Status.NoProgress.Rounds, name)
	}
	one := series(t, job(), "100", "100")
	one.Spec.FailurePolicy.NoProgress.Rounds = 5
	require.EqualValues(t, 3, series(t, one, "100").Status.NoProgress.Rounds, "an edit allows more")
	one.Spec.FailurePolicy.NoProgress.Rounds = 2
	require.NotNil(t, series(t, one, "100").Status.CompletionTime, "... or fewer")
}

func TestRulesGoBeforeNoProgress(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(2), kt.Begun)
	job.Spec.FailurePolicy.Rules = []v1beta1.FailurePolicyRule{uncounted(on(restarts, 1))}
	require.Nil(t, series(t, job, "100", "100", "100").Status.CompletionTime, "what no limit counts is in no series")
	job.Spec.FailurePolicy.Rules = []v1beta1.FailurePolicyRule{on(restarts, 1)}
	require.NotNil(t, series(t, job, "100", "100").Status.CompletionTime)
	job.Spec.FailurePolicy.Rules = []v1beta1.FailurePolicyRule{on(failsJob, 1)}
	require.Contains(t, condition(series(t, job, "100").Status, v1beta1.ConditionFailed).Message, `rule "codes" of failurePolicy fails the job`)
}

// Rank 2 fails, and rank 0 tells the steps: it is asked before it is stopped.
func TestTheReplicaThatTellsStepsIsAskedWhileItRuns(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.JobScope, kt.BackoffLimit(9), stuckAfter(2), kt.Begun)
	now := kt.At(m)
	world := func(told inplace.Report) kernel.World {
		pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running, withIP), kt.Pod(job, "worker", 1, kt.Running, withIP), kt.Pod(job, "worker", 2, fell(now, "ValueError: x", "none"))}
		return kernel.World{Job: job, Pods: pods, Now: now.Add(time.Second), Settings: kt.Settings, FurthestReport: told}
	}
	w := world(inplace.Report{})
	require.Same(t, w.Pods[0], kernel.FurthestPod(w))
	d := planWorld(t, w)
	require.Zero(t, d.Status.BackoffCount, "it waits for the answer")
	require.Equal(t, 9*time.Second, d.RequeueAfter)
	late := w
	late.Now = now.Add(10 * time.Second)
	d = planWorld(t, late)
	require.EqualValues(t, 1, d.Status.BackoffCount, "... not for ever")
	require.Nil(t, d.Status.NoProgress)

	for i := range 2 {
		now = kt.At(time.Duration(i+1) * m)
		w = world(inplace.Report{})
		w.FurthestReport = inplace.Report{Pod: string(w.Pods[0].UID), Attempt: i, Furthest: "100"}
		stale := w
		stale.FurthestReport.Attempt = 7
		require.Equal(t, job.Status.BackoffCount, planWorld(t, stale).Status.BackoffCount, "the answer is of other code")
		job = after(job, planWorld(t, w))
		require.EqualValues(t, i+1, job.Status.NoProgress.Rounds)
		require.Equal(t, "worker-0", job.Status.NoProgress.Replica)
	}
	require.Contains(t, condition(job.Status, v1beta1.ConditionFailed).Message, "worker-0 told no step after 100")
	require.Nil(t, kernel.FurthestPod(kernel.World{Job: job, Pods: w.Pods, Now: w.Now}), "the job is over")
}

func TestNobodyIsAskedForStepsWithoutNeed(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(9), stuckAfter(2), kt.Begun)
	failed, runs := kt.Pod(job, "worker", 1, kt.ExitedAt(1, kt.At(m))), kt.Pod(job, "worker", 0, kt.Running, withIP)
	asked := func(job *v1beta1.GenericJob, now time.Time, pods ...*corev1.Pod) *corev1.Pod {
		return kernel.FurthestPod(kernel.World{Job: job, Pods: pods, Now: now, Settings: kt.Settings})
	}
	require.NotNil(t, asked(job, kt.At(m+s), failed, runs))
	require.Nil(t, asked(job, kt.At(m+s), runs), "nothing has failed")
	require.Nil(t, asked(job, kt.At(2*m), failed, runs), "that was long ago")
	held := kernel.World{Job: job, Pods: []*corev1.Pod{runs}, Now: kt.At(m), Settings: kt.Settings}
	held.Reports = map[types.UID]inplace.Report{"x": {Held: &inplace.End{Code: 1}}}
	require.NotNil(t, kernel.FurthestPod(held), "a wrapper holds a failure")
	alone := job.DeepCopy()
	alone.Spec.RestartScope = ""
	require.Nil(t, asked(alone, kt.At(m+s), failed, runs), "replicas restart one by one")
	alone.Spec.FailurePolicy = nil
	require.Nil(t, asked(alone, kt.At(m+s), failed, runs))
}

// Where replicas restart one by one nobody knows how far the others have come.
func TestNoProgressWithoutEffectIsToldOf(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.BackoffLimit(9), stuckAfter(2), kt.Begun)
	for i := range 4 {
		now := kt.At(time.Duration(i+1) * m)
		job = after(job, plan(t, job, now, kt.Pod(job, "worker", 0, fell(now, "ValueError: x", "100")), kt.Pod(job, "worker", 1, kt.Running)))
	}
	require.Nil(t, job.Status.CompletionTime)
	require.EqualValues(t, 4, job.Status.BackoffCount)
	job.Status = v1beta1.GenericJobStatus{}
	d := kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings})
	require.Contains(t, texts(d.Postponed.Events), "spec.failurePolicy.noProgress is set, but replicas restart one by one, so that nobody knows how far the others have come: set restartScope to Job, or remove noProgress")
	job.Spec.RestartScope, job.Spec.Heartbeat.Stdout = v1beta1.RestartScopeJob, "step"
	d = kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings})
	require.Contains(t, texts(d.Postponed.Events), "nobody reads steps that can be compared")
}

// The first failure may become known late: then the series was of another cause.
func TestACauseThatIsKnownLateBeginsANewSeries(t *testing.T) {
	job := series(t, kt.Job(kt.Type("worker", 1), kt.BackoffLimit(9), stuckAfter(2), kt.Begun), "100")
	job.Status.FirstFailure.Cause = &v1beta1.Cause{Kind: v1beta1.CauseHardware, Role: v1beta1.CauseRoot}
	now := kt.At(2 * m)
	job = after(job, plan(t, job, now, kt.Pod(job, "worker", 0, fell(now, "ValueError: x", "100"))))
	require.Nil(t, job.Status.CompletionTime)
	require.EqualValues(t, 1, job.Status.NoProgress.Rounds)
}

// A preset says which rank prints, and two tell rounds over the data, within which a job may move.
func TestStepsOfPresets(t *testing.T) {
	for preset, want := range map[v1beta1.ProgressPreset]int{v1beta1.PresetTorchTitan: 0, v1beta1.PresetMegatron: 1, v1beta1.PresetKeras: -1, v1beta1.PresetLightning: -1} {
		job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(9), stuckAfter(2), kt.Begun)
		job.Spec.Heartbeat, job.Spec.Progress = nil, &v1beta1.ProgressFormat{Preset: preset}
		d := plan(t, job, kt.At(m), kt.Pod(job, "worker", 0, fell(kt.At(m), "ValueError: x", "7")), kt.Pod(job, "worker", 1, fell(kt.At(m), "ValueError: x", "9")))
		if want < 0 {
			require.Nil(t, d.Status.NoProgress, preset)
			continue
		}
		require.Equal(t, fmt.Sprintf("worker-%d", want), d.Status.NoProgress.Replica, preset)
		require.Equal(t, []int64{7, 9}[want], *d.Status.NoProgress.Step, preset)
	}
}
