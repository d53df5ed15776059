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

// What a pod's end means when somebody had asked for its deletion depends on which came first.
func TestDeletionRaces(t *testing.T) {
	asked := kt.At(time.Minute)
	deleted := kt.Deleted(asked, 30*time.Second)
	noTime := func(code int32) kt.PodOption {
		return func(p *corev1.Pod) {
			kt.Exited(code)(p)
			p.Status.ContainerStatuses[0].State.Terminated.FinishedAt.Time = time.Time{}
		}
	}
	initFailedAt := func(at time.Time) kt.PodOption {
		return func(p *corev1.Pod) {
			kt.ExitedAt(3, at)(p)
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, []corev1.ContainerStatus{{Name: "main"}}
			p.Status.InitContainerStatuses[0].Name = "prepare"
		}
	}
	target := func(at time.Time) kt.PodOption {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
		}
	}
	tests := map[string]struct {
		pod  []kt.PodOption
		want string
	}{
		"succeeded before the deletion":             {[]kt.PodOption{kt.ExitedAt(0, asked.Add(-time.Second)), deleted}, "Succeeded"},
		"succeeded in the second of it":             {[]kt.PodOption{kt.ExitedAt(0, asked), deleted}, "Succeeded"},
		"succeeded after it":                        {[]kt.PodOption{kt.ExitedAt(0, asked.Add(time.Second)), deleted}, "Disrupted"},
		"succeeded at an unknown time":              {[]kt.PodOption{noTime(0), deleted}, "Succeeded"},
		"failed before the deletion":                {[]kt.PodOption{kt.ExitedAt(1, asked.Add(-time.Second)), deleted}, "Failed"},
		"failed in the second of it":                {[]kt.PodOption{kt.ExitedAt(1, asked), deleted}, "Disrupted"},
		"failed after it":                           {[]kt.PodOption{kt.ExitedAt(1, asked.Add(time.Second)), deleted}, "Disrupted"},
		"failed at an unknown time":                 {[]kt.PodOption{noTime(1), deleted}, "Failed"},
		"killed at an unknown time":                 {[]kt.PodOption{noTime(137), deleted}, "Disrupted"},
		"marked, then succeeded in the second":      {[]kt.PodOption{kt.ExitedAt(0, asked), kt.Marked, deleted}, "Disrupted"},
		"marked, then succeeded at an unknown time": {[]kt.PodOption{noTime(0), kt.Marked, deleted}, "Disrupted"},
		"marked, but failed before":                 {[]kt.PodOption{kt.ExitedAt(1, asked.Add(-time.Second)), kt.Marked, deleted}, "Failed"},
		"marked, succeeded, then the grace cut":     {[]kt.PodOption{kt.ExitedAt(0, asked.Add(-time.Second)), kt.Marked, kt.Deleted(asked, 0)}, "Disrupted"},
		"stopped, succeeded, then the grace cut":    {[]kt.PodOption{kt.ExitedAt(0, asked.Add(-time.Second)), kt.Stopped, kt.Deleted(asked, 0)}, "Uncounted"},
		"not marked, succeeded, the grace cut":      {[]kt.PodOption{kt.ExitedAt(0, asked.Add(-time.Second)), kt.Deleted(asked, 0)}, "Succeeded"},
		"failed, then the grace cut":                {[]kt.PodOption{kt.ExitedAt(1, asked.Add(-time.Second)), kt.Deleted(asked, 0)}, "Failed"},
		"marked, failed, then the grace cut":        {[]kt.PodOption{kt.ExitedAt(1, asked.Add(-time.Second)), kt.Marked, kt.Deleted(asked, 0)}, "Disrupted"},
		"told to stop, then the grace cut":          {[]kt.PodOption{kt.ExitedAt(143, asked.Add(-time.Second)), kt.Deleted(asked, 0)}, "Disrupted"},
		"... after a process ran out of memory":     {[]kt.PodOption{kt.ExitedAt(143, asked.Add(-time.Second)), outOfMemory, kt.Deleted(asked, 0)}, "Disrupted"},
		"out of memory, then deleted":               {[]kt.PodOption{kt.ExitedAt(137, asked.Add(-time.Second)), outOfMemory, kt.Deleted(asked, 0)}, "Failed"},
		"succeeded, then was evicted":               {[]kt.PodOption{kt.ExitedAt(0, asked.Add(-time.Minute)), target(asked), kt.Deleted(asked, 0)}, "Succeeded"},
		"was evicted, then exited with 0":           {[]kt.PodOption{kt.ExitedAt(0, asked.Add(time.Second)), target(asked), kt.Deleted(asked.Add(2*time.Second), 0)}, "Disrupted"},
		"failed, then was evicted":                  {[]kt.PodOption{kt.ExitedAt(1, asked.Add(-time.Minute)), target(asked), kt.Deleted(asked, 0)}, "Failed"},
		"was evicted, then failed":                  {[]kt.PodOption{kt.ExitedAt(1, asked.Add(time.Second)), target(asked), kt.Deleted(asked.Add(2*time.Second), 0)}, "Disrupted"},
		"init container failed before":              {[]kt.PodOption{initFailedAt(asked.Add(-time.Second)), deleted}, "Failed"},
		"init container failed after":               {[]kt.PodOption{initFailedAt(asked.Add(time.Second)), deleted}, "Disrupted"},
		"succeeded before, then the grace cut":      {[]kt.PodOption{kt.ExitedAt(0, asked), kt.Deleted(asked, 0)}, "Succeeded"},
		"succeeded, then deleted a long time ago":   {[]kt.PodOption{kt.ExitedAt(0, kt.Start), kt.Deleted(kt.At(-time.Hour), 0)}, "Disrupted"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) {
				p.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
			})), kt.Begun)
			d := plan(t, job, kt.At(2*time.Minute), kt.Pod(job, "worker", 0, tc.pod...))
			switch tc.want {
			case "Succeeded":
				require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
			case "Failed":
				require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
			default:
				want := map[string]int32{"Disrupted": 1, "Uncounted": 0}[tc.want]
				require.Equal(t, want, d.Status.DisruptionCount)
				require.Nil(t, d.Status.CompletionTime)
			}
		})
	}
}

// A native sidecar is killed when the main containers are done: its exit code says nothing.
func TestExitCodeIsTheMainContainers(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(exitCode, 3)), kt.Begun)
	pod := kt.Pod(job, "worker", 0, kt.Exited(1))
	sidecar := pod.Status.ContainerStatuses[0].DeepCopy()
	sidecar.Name, sidecar.State.Terminated.ExitCode = "sidecar", 143
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{*sidecar}
	d := plan(t, job, kt.Start, pod)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase, "143 would be retried, 1 is permanent")
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "exited with error code 1;")
}

// outOfMemory is a container in which some process ran out of memory. containerd says so of a container that exits with 0, too.
func outOfMemory(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled" }

func TestOutOfMemorySaysSo(t *testing.T) {
	const crash = "Traceback (most recent call last):\n  File \"/train.py\", line 9, in main\nValueError: loss is nan"
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	for _, tc := range []struct {
		exited kt.PodOption
		want   string
	}{
		{kt.Exited(137), "exited with error code 137: container main ran out of memory (OOMKilled); raise its memory limit"},
		{crashed(0, 1, ""), "exited with error code 1 (a process in container main ran out of memory, OOMKilled: raise its memory limit)"},
		{crashed(0, 1, crash), `exited with error code 1: "ValueError: loss is nan" at /train.py:9, in main (a process in container main ran out of memory, OOMKilled: raise its memory limit)`},
	} {
		d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, tc.exited, outOfMemory))
		require.Contains(t, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, tc.want)
	}
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(0), outOfMemory))
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, "the code did its work nevertheless")
}

// A pod whose attempt is newer than the ledger means that the job's cache lags: do nothing and look again.
func TestStaleJobDoesNothing(t *testing.T) {
	old := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 3)), kt.Begun)
	newer := after(old, plan(t, old, kt.Start, kt.Pod(old, "worker", 0, kt.Exited(1))))
	debugged := kt.Edited(old, kt.DebugNow(true))
	debugged = after(debugged, plan(t, debugged, kt.Start))
	for name, pod := range map[string]*corev1.Pod{
		"of a later attempt": kt.Pod(newer, "worker", 0, kt.Exited(1)),
		"of a later mode":    kt.Pod(debugged, "worker", 0, kt.Exited(1)),
	} {
		t.Run(name, func(t *testing.T) {
			d := plan(t, old, kt.Start, pod)
			require.Equal(t, old.Status, d.Status)
			require.Empty(t, d.Actions)
			require.Equal(t, time.Second, d.RequeueAfter)
			require.True(t, d.Stale)

			// If the job does not lag, somebody has emptied its status: that is told, and nothing is done.
			d = planWorld(t, kernel.World{Job: old, Pods: []*corev1.Pod{pod}, JobIsLive: true, Now: kt.Start, Settings: kt.Settings})
			require.False(t, d.Stale)
			require.Empty(t, d.Actions)
			require.Equal(t, v1beta1.JobUnknown, d.Status.Phase)
			blocked := condition(d.Status, v1beta1.ConditionBlocked)
			require.Equal(t, v1beta1.ReasonLedgerUnreadable, blocked.Reason)
			require.Contains(t, blocked.Message, "restore the status, or delete the job")
		})
	}
	require.False(t, plan(t, old, kt.Start, kt.Pod(old, "worker", 0, kt.Running)).Stale)
}

func TestGarbageIsNeverCounted(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 1)), kt.Begun)
	first := kt.Pod(job, "worker", 0, kt.Exited(1))
	job = after(job, plan(t, job, kt.Start, first))
	for range 3 { // its deletion is slow
		d := plan(t, job, kt.Start, first)
		require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0"}, did(d))
		require.EqualValues(t, 1, d.Status.BackoffCount)
		require.Nil(t, d.Status.CompletionTime)
		job = after(job, d)
	}
	terminating := kt.Pod(kt.Job(kt.Type("worker", 1), kt.Begun), "worker", 0, kt.Exited(1), kt.Released, kt.Deleted(kt.Start, 30*time.Second))
	require.Empty(t, did(plan(t, job, kt.Start, terminating)), "it is on its way")
}

// A create may be carried out long after its caller was killed and replaced. The pod that it makes must not run what has finished. A pod
// may only seem to run, because the view of it is old. The operator lets that go once it sees that the pod has ended.
func TestAPodThatComesASecondTimeIsStopped(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  []kt.PodOption
		want []string
	}{
		"running":          {[]kt.PodOption{kt.Running}, []string{"StopPod worker-0"}},
		"pending":          {nil, []string{"StopPod worker-0"}},
		"on its way":       {[]kt.PodOption{kt.Running, kt.Deleted(kt.Start, 30*time.Second)}, []string{"ReleasePod worker-0"}},
		"the one that did": {[]kt.PodOption{kt.Exited(0)}, []string{"ReleasePod worker-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			first := kt.Job(kt.Type("worker", 2), kt.Begun)
			job := after(first, plan(t, first, kt.Start, kt.Pod(first, "worker", 0, kt.Exited(0)), kt.Pod(first, "worker", 1, kt.Running)))
			pods := []*corev1.Pod{kt.Pod(job, "worker", 0, tc.pod...), kt.Pod(job, "worker", 1, kt.Running)}
			require.Equal(t, tc.want, did(plan(t, job, kt.Start, pods...)), "while the job runs")
			pods[1] = kt.Pod(job, "worker", 1, kt.Exited(0), kt.Released)
			require.Equal(t, tc.want, did(plan(t, job, kt.Start, pods...)), "as the job finishes")
			job = after(job, plan(t, job, kt.Start, pods...))
			require.Equal(t, tc.want, did(plan(t, job, kt.Start, pods...)), "afterwards")
		})
	}
}

func TestPodsOfOthersAreLeftAlone(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	other := kt.Job(kt.Type("worker", 1), func(j *v1beta1.GenericJob) { j.UID = "other" }, kt.Begun)
	misnamed := kt.Pod(job, "worker", 0, kt.Exited(1), func(p *corev1.Pod) { p.Name = "mine" })
	for name, pod := range map[string]*corev1.Pod{
		"another job's":         kt.Pod(other, "worker", 0, kt.Exited(1)),
		"misnamed":              misnamed,
		"without an owner":      kt.Pod(job, "worker", 0, kt.Exited(1), func(p *corev1.Pod) { p.OwnerReferences = nil }),
		"its rank is no number": kt.Pod(job, "worker", 0, kt.Exited(1), func(p *corev1.Pod) { p.Labels[v1beta1.LabelReplicaRank] = "x" }),
	} {
		t.Run(name, func(t *testing.T) {
			d := plan(t, job, kt.Start, pod)
			require.Equal(t, []string{"CreatePod worker-0@0"}, did(d))
			require.Nil(t, d.Status.CompletionTime)
		})
	}
}

func TestJobThatIsBeingDeletedLetsGo(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.Begun)
	other := kt.Job(kt.Type("worker", 3), func(j *v1beta1.GenericJob) { j.UID = "other" }, kt.Begun)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 1, kt.Exited(1)), kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 2, kt.Released),
		kt.Pod(other, "worker", 0)}
	deleted := kt.Edited(job, func(j *v1beta1.GenericJob) { now := j.CreationTimestamp; j.DeletionTimestamp = &now })
	d := plan(t, deleted, kt.Start, pods...)
	require.Equal(t, []string{"ReleasePod worker-0", "ReleasePod worker-1"}, did(d))
	require.Equal(t, job.Status, d.Status)
	for _, a := range d.Actions {
		require.NotEqual(t, pods[3].Name, a.Pod.Name, "another job's pod")
	}
}

func TestUnreadableLedgerStopsEverything(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "0-"}}
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(1)))
	require.Equal(t, v1beta1.JobUnknown, d.Status.Phase)
	require.Equal(t, job.Status.Ledger, d.Status.Ledger, "it is kept for repair")
	require.Empty(t, d.Actions)
	blocked := condition(d.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonLedgerUnreadable, blocked.Reason)
	require.Contains(t, blocked.Message, `status.ledger[worker].succeeded "0-"`)
	job = after(job, d)
	require.Equal(t, job.Status, plan(t, job, kt.At(time.Hour)).Status, "it is told once")

	replaced := job.DeepCopy() // what cannot be read stands before the attempt of its pod
	replaced.Status.Ledger = []v1beta1.TaskLedger{{Type: "ps", Failed: "x"}, {Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 1, Attempt: 1}}}}
	pod := kt.Pod(job, "worker", 1, kt.Running)
	pod.Labels[v1beta1.LabelAttempt] = "1"
	d = planWorld(t, kernel.World{Job: replaced, Pods: []*corev1.Pod{pod}, JobIsLive: true, Now: kt.At(time.Hour), Settings: kt.Settings})
	require.Contains(t, condition(d.Status, v1beta1.ConditionBlocked).Message, `status.ledger[ps].failed "x"`, "the pod is not newer than the ledger")

	job.Status.Ledger = nil
	d = plan(t, job, kt.At(time.Hour), kt.Pods(job, "worker", 2, kt.Running)...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked))

	finished := kt.Job(kt.Type("worker", 1), kt.Begun)
	finished = after(finished, plan(t, finished, kt.Start, kt.Pod(finished, "worker", 0, kt.Exited(0))))
	finished.Status.Ledger[0].Failed = "x"
	d = plan(t, finished, kt.Start)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, "final is final")
	require.Equal(t, kernel.Plan(kernel.World{Job: finished, Now: kt.Start}).Status.CompletionTime, finished.Status.CompletionTime)
}

// The clock of the operator that ends a pause may be slower than that of the one that began it.
func TestTimeThatWasSpentPausedIsNotGivenBack(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.PauseNow(false), kt.Begun)
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.At(time.Minute)))
	job = kt.Edited(job, kt.PauseNow(false))
	require.Zero(t, plan(t, job, kt.At(30*time.Second)).Status.PausedSeconds)
}
