package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// blank is a job of two workers that no reconcile has written, and its pods as the first reconcile creates them.
func blank(t *testing.T, options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2, kt.Policy(onFailure, 3))}, options...)...)
	require.Empty(t, job.Status)
	return job, kt.Pods(job, "worker", 2)
}

func TestTheFirstStatusWaitsForAView(t *testing.T) {
	job, pods := blank(t, kt.WithService())
	d := plan(t, job, kt.Start)
	require.Empty(t, d.Status)
	require.Empty(t, d.Events)
	require.Equal(t, []string{"CreateService", "CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d), "what it begins with does not wait")
	require.Equal(t, 2*time.Second, d.RequeueAfter)

	begun := after(job, *d.Postponed)
	for _, a := range d.Actions[1:] {
		require.Equal(t, kernel.NewPodBuilder(begun, kt.Settings).Pod(a), kernel.NewPodBuilder(job, kt.Settings).Pod(a), "the pods are those of a job with a status")
	}

	pods = with(pods, kt.Scheduled)
	require.Empty(t, plan(t, job, kt.At(1500*time.Millisecond), pods...).Status)
	d = plan(t, job, kt.At(2*time.Second), pods...)
	require.Nil(t, d.Postponed)
	require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	require.Equal(t, "Immediate", d.Status.Mode)
	require.Zero(t, d.Status.ModeGeneration)
	require.EqualValues(t, 1, d.Status.ObservedGeneration)
	require.Equal(t, v1beta1.Aggregate{Pending: 2}, d.Status.Aggregate)
	require.Equal(t, []kernel.Event{{Reason: "Started", Message: "The job has been initialized successfully."}}, d.Events)
}

func TestHowLongTheFirstStatusWaits(t *testing.T) {
	tests := map[string]struct {
		replicas int32
		age      time.Duration
		want     time.Duration // 0: it is written at once
	}{
		"a new job":                        {2, 0, 2 * time.Second},
		"the rest of the time":             {2, 1700 * time.Millisecond, 300 * time.Millisecond},
		"a job that is older":              {2, 2 * time.Second, 0},
		"after an outage":                  {2, time.Hour, 0},
		"a clock that lags":                {2, -time.Millisecond, 0},
		"a hundred replicas":               {100, 0, 2 * time.Second},
		"a job whose creates take a while": {101, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", tc.replicas))
			d := plan(t, job, kt.At(tc.age))
			require.Equal(t, tc.want, d.RequeueAfter)
			require.Equal(t, tc.want > 0, d.Status.Phase == "")
			require.Len(t, d.Actions, int(tc.replicas))
		})
	}
}

// What is not just a view of the pods is not postponed.
func TestWhatTheFirstStatusDoesNotWaitWith(t *testing.T) {
	asked := kt.Deleted(kt.Start, 30*time.Second)
	tests := map[string]struct {
		options []kt.JobOption
		pod     []kt.PodOption // of worker-0
		phase   v1beta1.JobPhase
		waits   bool
	}{
		"a pod that runs":                       {nil, []kt.PodOption{kt.Running}, "", true},
		"a success that decides nothing":        {nil, []kt.PodOption{kt.Exited(0)}, "", true},
		"a success of a pod that is to go":      {nil, []kt.PodOption{kt.Exited(0), asked}, v1beta1.JobPending, false},
		"a success that decides":                {[]kt.JobOption{success(v1beta1.FinishRule{"worker": ranks(0)})}, []kt.PodOption{kt.Exited(0)}, v1beta1.JobSucceeded, false},
		"a failure that is restarted":           {nil, []kt.PodOption{kt.Exited(1)}, v1beta1.JobPending, false},
		"a failure for good":                    {[]kt.JobOption{kt.BackoffLimit(0)}, []kt.PodOption{kt.Exited(1)}, v1beta1.JobFailed, false},
		"a disruption":                          {nil, []kt.PodOption{kt.FailedWithout("NodeShutdown")}, v1beta1.JobPending, false},
		"a pod that somebody deletes":           {nil, []kt.PodOption{kt.Running, asked}, "", true},
		"a pod that was deleted for good":       {nil, []kt.PodOption{kt.Running, kt.Deleted(kt.Start, 0)}, v1beta1.JobPending, false},
		"a deadline that is over":               {[]kt.JobOption{deadline(1)}, nil, v1beta1.JobFailed, false},
		"an invalid spec of a job with pods":    {[]kt.JobOption{success(v1beta1.FinishRule{"chief": ranks(0)})}, nil, v1beta1.JobFailed, false},
		"a pause":                               {[]kt.JobOption{kt.PauseNow(true)}, nil, v1beta1.JobPending, false},
		"debug mode":                            {[]kt.JobOption{kt.DebugNow(true)}, nil, v1beta1.JobPending, false},
		"a replica that the spec does not have": {[]kt.JobOption{kt.Replicas("worker", 1)}, nil, v1beta1.JobPending, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, pods := blank(t)
			job, _ := blank(t, tc.options...)
			d := plan(t, job, kt.At(time.Second), with(pods[:1], tc.pod...)[0], pods[1])
			require.Equal(t, tc.phase, d.Status.Phase)
			require.Equal(t, tc.waits, d.Postponed != nil)
			if tc.waits {
				require.Equal(t, time.Second, d.RequeueAfter)
				require.NotContains(t, did(d), "ReleasePod worker-0", "a pod keeps its finalizer until its success is written")
			}
		})
	}
	t.Run("that all pods run is told with the rest", func(t *testing.T) {
		job, pods := blank(t)
		require.Empty(t, plan(t, job, kt.At(time.Second), with(pods, kt.Running)...).Status.Phase)
		d := plan(t, job, kt.At(2*time.Second), with(pods, kt.Running)...)
		require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
		require.Equal(t, []kernel.Event{{Reason: "Running", Message: allFine}}, d.Events, "that it has begun goes without saying")
	})
	t.Run("a gang scheduler that is missing", func(t *testing.T) {
		job, _ := blank(t, t9k("team", 7))
		d := planWorld(t, kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings, Gang: kernel.GangObjects{Missing: "PodGroup"}})
		require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	})
	t.Run("a spec that is invalid before any pod exists", func(t *testing.T) {
		job, _ := blank(t, success(v1beta1.FinishRule{"chief": ranks(0)}))
		require.Equal(t, v1beta1.JobFailed, plan(t, job, kt.Start).Status.Phase)
	})
}

// Pods of mode generation 0 may exist under a blank status, though the cache does not show them yet.
func TestAModeBeforeTheFirstStatusBeginsAModeGeneration(t *testing.T) {
	resume := v1beta1.ResumeSpec{Type: "worker", Command: []string{"resume"}}
	_, pods := blank(t)
	pods = with(pods, kt.Running)
	for name, mode := range map[string]kt.JobOption{"paused": kt.PauseNow(true, resume), "debug": kt.DebugNow(true)} {
		t.Run(name, func(t *testing.T) {
			job, _ := blank(t)
			job = kt.Edited(job, mode)
			d := plan(t, job, kt.Start)
			require.EqualValues(t, 1, d.Status.ModeGeneration)
			d = plan(t, after(job, d), kt.At(time.Second), pods...)
			require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
		})
	}
	t.Run("a job whose pods are known had begun", func(t *testing.T) {
		job, _ := blank(t)
		job = kt.Edited(job, kt.PauseNow(true, resume))
		d := plan(t, job, kt.At(time.Second), pods...)
		require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
		requirePaused(t, job, d, kt.At(time.Second))
	})
	t.Run("so had one whose pods show late", func(t *testing.T) {
		job, _ := blank(t)
		job = kt.Edited(job, kt.PauseNow(true, resume))
		job = after(job, plan(t, job, kt.At(time.Second)))
		require.Nil(t, job.Status.StartTime)
		requirePaused(t, job, plan(t, job, kt.At(3*time.Second), pods...), kt.At(3*time.Second))
	})
}

// requirePaused says that a job is in its first pause, began at kt.Start, and resumes by its resumeSpecs.
func requirePaused(t *testing.T, job *v1beta1.GenericJob, d kernel.Decision, since time.Time) {
	t.Helper()
	require.EqualValues(t, 1, d.Status.PauseCount)
	require.Positive(t, d.Status.ModeGeneration)
	require.Equal(t, kt.Start, d.Status.StartTime.Time)
	require.Equal(t, since, d.Status.PauseTime.Time)
	job = kt.Edited(after(job, d), func(j *v1beta1.GenericJob) { j.Spec.RunMode.Pause.Enabled = false })
	d = plan(t, job, since.Add(time.Hour))
	require.Equal(t, "Resumed", d.Status.Mode)
	require.EqualValues(t, 3600, d.Status.PausedSeconds)
	pod := kernel.NewPodBuilder(after(job, d), kt.Settings).Pod(d.Actions[0])
	require.Equal(t, []string{"resume"}, pod.Spec.Containers[0].Command)
}

func TestAJobBeganWithItsFirstPod(t *testing.T) {
	created := func(at time.Duration) kt.PodOption {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(kt.At(at)) }
	}
	job, pods := blank(t, deadline(60))
	second, third := with(pods[:1], created(time.Second))[0], with(pods[1:], created(2*time.Second))[0]

	d := plan(t, job, kt.At(2*time.Second), third, second)
	require.Equal(t, kt.At(time.Second), d.Status.StartTime.Time)
	require.Equal(t, 59*time.Second, d.RequeueAfter)

	require.Equal(t, kt.At(5*time.Second), plan(t, job, kt.At(5*time.Second)).Status.StartTime.Time, "none is known")
	require.Equal(t, kt.At(-time.Second), plan(t, job, kt.At(-time.Second), second).Status.StartTime.Time, "the operator's clock lags")

	d = plan(t, job, kt.At(61*time.Second), second, third)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase, "the operator that created them was killed, and the next came late")
	require.Equal(t, "Immediate", d.Status.Mode)
	require.Contains(t, d.Events, kernel.Event{Reason: "Started", Message: "The job has been initialized successfully."})
}

// Until there is a phase the CRD lets users edit the spec. Pods of the spec's first generation do not stay under another.
func TestAnEditBeforeTheFirstStatus(t *testing.T) {
	job, pods := blank(t)
	pods = with(pods, kt.Running)
	another := func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Image = "another" }

	edited := kt.Edited(job, another)
	d := plan(t, edited, kt.Start)
	require.EqualValues(t, 1, d.Status.ModeGeneration)
	require.Equal(t, v1beta1.JobPending, d.Status.Phase, "it is written at once")
	require.Equal(t, "1", kernel.NewPodBuilder(after(edited, d), kt.Settings).Pod(d.Actions[0]).Labels[v1beta1.LabelModeGeneration])
	require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(plan(t, after(edited, d), kt.At(time.Second), pods...)))

	d = plan(t, edited, kt.Start, with(pods[:1], kt.Exited(0))[0], pods[1])
	require.Equal(t, []string{"ReleasePod worker-0", "StopPod worker-1"}, did(d), "what has finished stays finished")

	invalid := kt.Edited(job, func(j *v1beta1.GenericJob) {
		j.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{"$(replicas[ps])"}
	})
	for _, known := range [][]*corev1.Pod{nil, pods} {
		d = plan(t, invalid, kt.Start, known...)
		require.Equal(t, v1beta1.JobFailed, d.Status.Phase, "whether its pods are known or not, as if it had been created so")
		require.Equal(t, "InvalidSpec", condition(d.Status, v1beta1.ConditionFailed).Reason)
		require.Equal(t, v1beta1.JobFailed, plan(t, after(invalid, d), kt.At(time.Second), known...).Status.Phase)
	}

	paused := kt.Edited(job, another, kt.PauseNow(true))
	require.EqualValues(t, 1, plan(t, paused, kt.Start).Status.ModeGeneration)
}

func TestARefusalBringsTheFirstStatus(t *testing.T) {
	job, _ := blank(t)
	first := plan(t, job, kt.Start)
	for reason, phase := range map[string]v1beta1.JobPhase{
		v1beta1.ReasonCreateFailed: v1beta1.JobPending, v1beta1.ReasonNameConflict: v1beta1.JobPending, v1beta1.ReasonCreateInvalid: v1beta1.JobFailed,
	} {
		t.Run(reason, func(t *testing.T) {
			d := kernel.RecordRefusals(kernel.World{Job: job, Now: kt.Start}, first, []kernel.Refusal{{Action: first.Actions[0], Reason: reason, Message: "no"}})
			require.Equal(t, v1beta1.JobPending, d.Status.Phase)
			require.Equal(t, kt.Start, d.Status.StartTime.Time)
			require.Equal(t, "Immediate", d.Status.Mode)
			require.Equal(t, metav1.ConditionTrue, condition(d.Status, v1beta1.ConditionInitialized).Status)
			require.Equal(t, reason, condition(d.Status, v1beta1.ConditionBlocked).Reason)
			require.Equal(t, []string{"Started", reason}, []string{d.Events[0].Reason, d.Events[1].Reason})

			next := plan(t, after(job, d), kt.At(time.Second))
			require.Equal(t, phase, next.Status.Phase)
			require.Equal(t, reason != v1beta1.ReasonCreateInvalid, len(next.Actions) == 2, "it is tried again")
		})
	}
}
