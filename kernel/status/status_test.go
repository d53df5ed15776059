package status

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return start.Add(d) }

// fresh is a job of so many workers that has no status yet.
func fresh(workers int32) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{
		Name: "job", Namespace: "ns", UID: "uid", Generation: 1, CreationTimestamp: metav1.NewTime(start)}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &workers}}
	return job
}

// begun is a job of two workers that has begun, of which no pod was seen yet.
func begun(t *testing.T, edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	t.Helper()
	job := fresh(2)
	job.Status, _, _ = Of(findingsOf(t, job, func(d ledger.Draft) { d.SwitchMode(start, false); d.SetStartTime(start) }))
	for _, edit := range edits {
		edit(job)
	}
	return job
}

// podOf is the pod of a worker in a phase.
func podOf(rank int, phase corev1.PodPhase) *corev1.Pod {
	job := fresh(2)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: spec.PodName(job, "worker", rank), Namespace: "ns", CreationTimestamp: metav1.NewTime(start),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))},
			Labels: map[string]string{v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: strconv.Itoa(rank),
				v1beta1.LabelAttempt: "0", v1beta1.LabelModeGeneration: "0"},
		},
		Spec:   corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: phase},
	}
}

// findingsOf is a reconcile over a job with these pods, in which the ledger was written so and the verdict is to run.
func findingsOf(t *testing.T, job *v1beta1.GenericJob, write func(ledger.Draft), pods ...*corev1.Pod) Findings {
	t.Helper()
	d, err := ledger.Load(job)
	require.NoError(t, err)
	if write != nil {
		write(d)
	}
	return Findings{Job: job, Ledger: d.Ledger, Roster: roster.Of(job, d.Ledger, pods, podstate.Judge{Now: start}),
		Verdict: verdict.Verdict{Course: verdict.Run}, Now: start}
}

func running() []*corev1.Pod {
	return []*corev1.Pod{podOf(0, corev1.PodRunning), podOf(1, corev1.PodRunning)}
}

// A status that is written in each reconcile wakes the operator by its own write, for ever.
func TestNothingNewIsNotWritten(t *testing.T) {
	tests := map[string]struct {
		course verdict.Course
		pods   []*corev1.Pod
	}{
		"no pod yet":            {verdict.Run, nil},
		"pods that run":         {verdict.Run, running()},
		"one that waits":        {verdict.Run, []*corev1.Pod{podOf(0, corev1.PodRunning), podOf(1, corev1.PodPending)}},
		"a job that is blocked": {verdict.Block, nil},
		"a paused job":          {verdict.Pause, nil},
		"one that pauses":       {verdict.Pause, running()},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := begun(t)
			p := findingsOf(t, job, nil, tc.pods...)
			p.Verdict = verdict.Verdict{Course: tc.course, Reason: "Reason", Message: "Message."}
			p.Now = after(time.Second)
			first, _, _ := Of(p)
			job.Status = first
			before := job.DeepCopy()
			p.Now = after(time.Hour)
			again, events, news := Of(p)
			require.False(t, news)
			require.Empty(t, events)
			require.Equal(t, first, again, "not even its time")
			require.Equal(t, before, job, "the stored job was changed")
		})
	}
}

// The verdict is over: a job that has ended is not told anew.
func TestAnEndIsToldOnce(t *testing.T) {
	tests := map[string]struct {
		course verdict.Course
		phase  v1beta1.JobPhase
	}{
		"success": {verdict.Succeed, v1beta1.JobSucceeded},
		"failure": {verdict.Fail, v1beta1.JobFailed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := begun(t)
			p := findingsOf(t, job, nil, running()...)
			p.Verdict, p.Now = verdict.Verdict{Course: tc.course, Reason: "Reason", Message: "Message."}, after(time.Minute)
			job.Status, _, _ = Of(p)
			require.Equal(t, tc.phase, job.Status.Phase)
			require.Equal(t, after(time.Minute), job.Status.CompletionTime.Time)

			rest := findingsOf(t, job, nil) // its pods have gone
			rest.Verdict, rest.Now = verdict.Verdict{Course: verdict.AlreadyFinished}, after(time.Hour)
			s, events, news := Of(rest)
			require.True(t, news, "the replicas are Deleted now")
			require.Empty(t, events)
			require.Equal(t, tc.phase, s.Phase)
			require.Equal(t, job.Status.CompletionTime, s.CompletionTime)
			require.Equal(t, job.Status.Conditions, s.Conditions)
		})
	}
}

func TestPhases(t *testing.T) {
	half := []*corev1.Pod{podOf(0, corev1.PodRunning)}
	paused := func(job *v1beta1.GenericJob) { job.Status.Mode = spec.ModePaused }
	tests := map[string]struct {
		was    v1beta1.JobPhase
		course verdict.Course
		pods   []*corev1.Pod
		edit   func(*v1beta1.GenericJob)
		want   v1beta1.JobPhase
	}{
		"nobody has looked yet": {"", verdict.Run, nil, nil, v1beta1.JobPending},
		"all run":               {v1beta1.JobPending, verdict.Run, running(), nil, v1beta1.JobRunning},
		"not all run yet":       {v1beta1.JobPending, verdict.Run, half, nil, v1beta1.JobPending},
		"a replica that is replaced does not end Running":     {v1beta1.JobRunning, verdict.Run, half, nil, v1beta1.JobRunning},
		"a job resumes until all run":                         {v1beta1.JobResuming, verdict.Run, half, nil, v1beta1.JobResuming},
		"and runs then":                                       {v1beta1.JobResuming, verdict.Run, running(), nil, v1beta1.JobRunning},
		"a pause is over when the last pod has gone":          {v1beta1.JobRunning, verdict.Pause, nil, paused, v1beta1.JobPaused},
		"and not before":                                      {v1beta1.JobRunning, verdict.Pause, half, paused, v1beta1.JobRunning},
		"a job that cannot go on stays paused":                {v1beta1.JobPaused, verdict.Block, nil, paused, v1beta1.JobPaused},
		"one that was repaired can be told about again":       {v1beta1.JobUnknown, verdict.Run, half, nil, v1beta1.JobPending},
		"a phase that no job has is somebody's":               {"Strange", verdict.Run, half, nil, v1beta1.JobPending},
		"so is the end of a job that has not ended":           {v1beta1.JobSucceeded, verdict.Run, half, nil, v1beta1.JobPending},
		"who blocked a job that ran does not take it for new": {v1beta1.JobRunning, verdict.Block, half, nil, v1beta1.JobRunning},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := begun(t)
			if tc.edit != nil {
				tc.edit(job)
			}
			job.Status.Phase = tc.was
			p := findingsOf(t, job, nil, tc.pods...)
			p.Verdict = verdict.Verdict{Course: tc.course, Reason: "Reason", Message: "Message."}
			s, _, _ := Of(p)
			require.Equal(t, tc.want, s.Phase)
		})
	}
}

func TestUnreadable(t *testing.T) {
	tests := map[string]struct {
		edit func(*v1beta1.GenericJob)
		want v1beta1.JobPhase
	}{
		"a job that runs": {func(*v1beta1.GenericJob) {}, v1beta1.JobUnknown},
		"one that has ended": {func(job *v1beta1.GenericJob) {
			job.Status.Phase, job.Status.CompletionTime = v1beta1.JobSucceeded, &metav1.Time{Time: start}
		}, v1beta1.JobSucceeded},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := begun(t, tc.edit, func(job *v1beta1.GenericJob) {
				job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "x"}}
			})
			before := job.DeepCopy()
			s, events, news := Unreadable(job, "status.ledger[worker] is broken", "until that is repaired: restore the status, or delete the job", after(time.Minute))
			require.Equal(t, before, job, "the stored job was changed")
			require.True(t, news)
			message := "status.ledger[worker] is broken. The operator does nothing for this job until that is repaired: restore the status, or delete the job."
			require.Equal(t, []Event{{Warning: true, Reason: "LedgerUnreadable", Message: message}}, events)
			require.Equal(t, message, Condition(s.Conditions, v1beta1.ConditionBlocked).Message)
			require.Equal(t, tc.want, s.Phase)
			require.Equal(t, job.Status.Ledger, s.Ledger, "what cannot be read is not overwritten")
			require.Equal(t, job.Status.Tasks, s.Tasks)

			job.Status = s
			again, events, news := Unreadable(job, "status.ledger[worker] is broken", "until that is repaired: restore the status, or delete the job", after(time.Hour))
			require.False(t, news)
			require.Empty(t, events)
			require.Equal(t, s, again)
		})
	}
}

func TestAStatusThatCannotBeStoredIsToldOf(t *testing.T) {
	e := TooLarge("etcdserver: request is too large")
	require.True(t, e.Warning)
	require.Equal(t, v1beta1.ReasonStatusTooLarge, e.Reason)
	require.Contains(t, e.Message, "(etcdserver: request is too large)")
	require.Contains(t, e.Message, "Make the spec smaller")
}

func TestWithoutRowsKeepsAllElse(t *testing.T) {
	job := begun(t)
	p := findingsOf(t, job, func(d ledger.Draft) { d.StartOver(d.Account("worker"), 1, ledger.Restart, 0, false, start) }, running()...)
	s, _, _ := Of(p)
	require.Len(t, s.Tasks[0].Replicas, 2)
	before := *s.DeepCopy()
	got := WithoutRows(&s)
	require.Equal(t, before, s, "the status that was too large was changed")
	want := *s.DeepCopy()
	want.RowsOmitted, want.Tasks = true, []v1beta1.TaskStatus{{Type: "worker", RestartCount: 1}}
	require.Equal(t, want, got)

	job.Status = got
	s, _, _ = Of(findingsOf(t, job, nil, running()...))
	require.Equal(t, []v1beta1.TaskStatus{{Type: "worker", RestartCount: 1}}, s.Tasks, "no rows from then on")
	require.EqualValues(t, 1, s.Aggregate.Running, "they are counted still: one runs, one is to be replaced")
}
