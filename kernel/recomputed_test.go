package kernel_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// hear has Plan look at pods of which the first reports its progress, and stores the status.
func hear(t *testing.T, job *v1beta1.GenericJob, at time.Duration, step string, p *inplace.Pace, pods ...*corev1.Pod) *v1beta1.GenericJob {
	t.Helper()
	report := inplace.Report{Pod: string(pods[0].UID), Step: step, Pace: p}
	job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(at), Settings: kt.Settings, ProgressReport: report}))
	requireWhole(t, job)
	return job
}

func TestRecomputedWork(t *testing.T) {
	for name, c := range map[string]struct {
		first   *inplace.Pace // what the code tells that goes on
		step    string
		seconds int64
		atLeast bool
	}{
		"all is told":                               {&inplace.Pace{First: 51, Each: true, Seconds: 2, Before: ptr.To[int64](130)}, "60", 160, false},
		"the last step before is not told":          {&inplace.Pace{First: 51, Each: true, Seconds: 2}, "60", 100, true},
		"each tenth is told":                        {&inplace.Pace{First: 60, Seconds: 2, Before: ptr.To[int64](100)}, "70", 82, true},
		"it goes on where it was":                   {&inplace.Pace{First: 101, Each: true, Seconds: 2, Before: ptr.To[int64](100)}, "110", 0, false},
		"... so far as is known":                    {&inplace.Pace{First: 101, Each: true}, "110", 0, true},
		"an earlier wrapper tells no pace":          {nil, "110", 0, true},
		"what it tells of the code before is older": {&inplace.Pace{First: 51, Each: true, Seconds: 2, Before: ptr.To[int64](3)}, "60", 100, true},
		"code that lies":                            {&inplace.Pace{First: 0, Each: true, Seconds: 600000, Before: ptr.To[int64](math.MaxInt64 / 2)}, "60", 0, false},
		"code that lies more":                       {&inplace.Pace{First: 0, Each: true, Seconds: 600000, Before: ptr.To[int64](1000)}, "60", 4800, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)"} }))
			both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
			job = look(t, job, 3*second, both...)
			job = hear(t, job, 60*minute, "100", &inplace.Pace{First: 1, Each: true, Seconds: 2}, both...)
			require.Nil(t, job.Status.Time.StepBefore)
			job = look(t, job, 61*minute, both[0], kt.Pod(job, "worker", 1, failedAt(0, 60*minute)))
			require.EqualValues(t, 100, *job.Status.Time.StepBefore)
			again := []*corev1.Pod{both[0], kt.Pod(job, "worker", 1, startedAt(70*minute))}
			job = look(t, job, 71*minute, again...)
			job = hear(t, job, 90*minute, c.step, c.first, again...)
			got := job.Status.Time
			require.Equal(t, c.seconds, got.Recomputed)
			require.Equal(t, c.atLeast, got.RecomputedAtLeast)
			require.Equal(t, name == "code that lies", got.StepBefore != nil, "it is added once")
			if c.seconds > 0 {
				require.Less(t, got.Goodput, status90)
			}
		})
	}
}

// status90 is the goodput of 20 + 60 minutes of 90, in which nothing was done again.
const status90 = "0.889"

// A report from before the restart in place says nothing of the code after it.
func TestAnOldReportIsNotOfTheCodeThatGoesOn(t *testing.T) {
	job := fresh(kt.InPlace, kt.JobScope, kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)"} }))
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, 3*second, both...)
	job.Status.Time.StepBefore = ptr.To[int64](100)
	job.Status.JobAttempt = 1
	job.Status.InPlace = &v1beta1.InPlaceStatus{StartedJobAttempt: 1}
	for i := range both {
		both[i] = kt.Pod(job, "worker", i, startedAt(0))
	}
	p := &inplace.Pace{First: 51, Each: true, Seconds: 2, Before: ptr.To[int64](100)}
	job = hear(t, job, 5*minute, "60", p, both...)
	require.NotNil(t, job.Status.Time.StepBefore)
	report := inplace.Report{Pod: string(both[0].UID), Attempt: 1, Step: "61", Pace: p}
	job = after(job, planWorld(t, kernel.World{Job: job, Pods: both, Now: kt.At(10 * minute), Settings: kt.Settings, ProgressReport: report}))
	require.Nil(t, job.Status.Time.StepBefore)
	require.EqualValues(t, 100, job.Status.Time.Recomputed)
	require.False(t, job.Status.Time.RecomputedAtLeast)
}

// Two restarts without a word of progress between them: nobody knows how much the first cost.
func TestRecomputedWorkOfARestartThatNobodyHeardOf(t *testing.T) {
	job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)"} }))
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, 3*second, both...)
	job = hear(t, job, 10*minute, "100", nil, both...)
	for i := range time.Duration(2) {
		job = look(t, job, (20+10*i)*minute, both[0], kt.Pod(job, "worker", 1, failedAt((10+10*i)*minute, (20+10*i)*minute)))
		job = look(t, job, (25+10*i)*minute, both[0], kt.Pod(job, "worker", 1, startedAt((25+10*i)*minute)))
	}
	job = hear(t, job, 60*minute, "70", &inplace.Pace{First: 51, Each: true, Seconds: 2, Before: ptr.To[int64](100)}, both[0], kt.Pod(job, "worker", 1, startedAt(35*minute)))
	require.EqualValues(t, 100, job.Status.Time.Recomputed)
	require.True(t, job.Status.Time.RecomputedAtLeast)
}
