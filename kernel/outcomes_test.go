package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

const (
	always    = v1beta1.RestartAlways
	onFailure = v1beta1.RestartOnFailure
	never     = v1beta1.RestartNever
	exitCode  = v1beta1.RestartExitCode
)

// live ends the replica worker-0 with the same code until the job does not replace it any more. It returns the number of restarts and the
// job.
func live(t *testing.T, job *v1beta1.GenericJob, code int32) (int, *v1beta1.GenericJob) {
	t.Helper()
	now := kt.Start
	for restarts := range 50 {
		now = now.Add(time.Hour)
		pod := kt.Pod(job, "worker", 0, kt.StartedAt(now), kt.ExitedAt(code, now))
		d := plan(t, job, now, pod)
		job = after(job, d)
		if job.Status.CompletionTime != nil {
			return restarts, job
		}
		require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0"}, did(d))
		d = plan(t, job, now.Add(10*time.Minute))
		require.Equal(t, []string{fmt.Sprintf("CreatePod worker-0@%d", restarts+1)}, did(d))
		job = after(job, d)
	}
	return 50, job
}

func TestRestartPolicies(t *testing.T) {
	none := []kt.JobOption{}
	shared := func(n int32) []kt.JobOption { return []kt.JobOption{kt.BackoffLimit(n)} }
	policy := func(kind v1beta1.RestartPolicyType, limit int32, codes ...int32) func(*v1beta1.ReplicaSpec) {
		return kt.Policy(kind, limit, codes...)
	}
	const noLimit, endless = -1, 50
	nothing := func(*v1beta1.ReplicaSpec) {}
	ok, bad := v1beta1.JobSucceeded, v1beta1.JobFailed
	tests := map[string]struct {
		job    []kt.JobOption
		policy func(*v1beta1.ReplicaSpec)
		code   int32
		want   int
		phase  v1beta1.JobPhase
	}{
		"default/success":                         {none, nothing, 0, 0, ok},
		"default is OnFailure with limit 0":       {none, nothing, 1, 0, bad},
		"default with backoffLimit: no own limit": {shared(3), nothing, 1, 3, bad},
		"OnFailure/no limit means 0":              {none, policy(onFailure, noLimit), 1, 0, bad},
		"OnFailure/limit 1":                       {none, policy(onFailure, 1), 1, 1, bad},
		"OnFailure/limit 4":                       {none, policy(onFailure, 4), 1, 4, bad},
		"OnFailure/success":                       {none, policy(onFailure, 4), 0, 0, ok},
		"OnFailure/backoffLimit is lower":         {shared(2), policy(onFailure, 4), 1, 2, bad},
		"OnFailure/limit is lower":                {shared(5), policy(onFailure, 4), 1, 4, bad},
		"OnFailure/backoffLimit 0":                {shared(0), policy(onFailure, noLimit), 1, 0, bad},
		"OnFailure/backoffLimit 0, limit 3":       {shared(0), policy(onFailure, 3), 1, 0, bad},
		"OnFailure/limit 0 with backoffLimit":     {shared(5), policy(onFailure, 0), 1, 0, bad},
		"Never/failure":                           {none, policy(never, 5), 1, 0, bad},
		"Never/with backoffLimit":                 {shared(5), policy(never, noLimit), 1, 0, bad},
		"Never/success":                           {none, policy(never, 5), 0, 0, ok},
		"Always/failure":                          {none, policy(always, 2), 1, 2, bad},
		"Always/success: the last one counts":     {none, policy(always, 2), 0, 2, ok},
		"Always/success with backoffLimit":        {shared(3), policy(always, noLimit), 0, 3, ok},
		"Always/limit 0":                          {none, policy(always, 0), 0, 0, ok},
		"ExitCode/143 by default":                 {none, policy(exitCode, 2), 143, 2, bad},
		"ExitCode/130 by default":                 {none, policy(exitCode, 2), 130, 2, bad},
		"ExitCode/137 by default":                 {none, policy(exitCode, 2), 137, 2, bad},
		"ExitCode/138 by default":                 {none, policy(exitCode, 2), 138, 2, bad},
		"ExitCode/1 is permanent":                 {none, policy(exitCode, 2), 1, 0, bad},
		"ExitCode/own list":                       {none, policy(exitCode, 2, 42), 42, 2, bad},
		"ExitCode/own list replaces the default":  {none, policy(exitCode, 2, 42), 143, 0, bad},
		"ExitCode/with backoffLimit":              {shared(3), policy(exitCode, noLimit), 137, 3, bad},
		"ExitCode/success":                        {none, policy(exitCode, 2), 0, 0, ok},
		"OnFailure/many restarts":                 {none, policy(onFailure, 100), 1, endless, v1beta1.JobPending},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(append(tc.job, kt.Type("worker", 1, tc.policy), kt.Begun)...)
			restarts, job := live(t, job, tc.code)
			require.Equal(t, tc.want, restarts)
			require.Equal(t, tc.phase, job.Status.Phase)
			require.EqualValues(t, tc.want, job.Status.BackoffCount)
			require.EqualValues(t, tc.want, job.Status.Tasks[0].RestartCount)
		})
	}
}

// The limit that all share is not overdrawn by failures that are seen at once; the lower ranks have it.
func TestSharedLimitWithSeveralFailuresInOneReconcile(t *testing.T) {
	tests := map[string]struct {
		options   []kt.JobOption
		policy    func(*v1beta1.ReplicaSpec)
		code      int32
		restarted []int32
		failed    string
		succeeded string
	}{
		"2 of 4":           {[]kt.JobOption{kt.BackoffLimit(2)}, kt.Policy(onFailure, -1), 1, []int32{0, 1}, "2-3", ""},
		"all of 4":         {[]kt.JobOption{kt.BackoffLimit(4)}, kt.Policy(onFailure, -1), 1, []int32{0, 1, 2, 3}, "", ""},
		"none":             {[]kt.JobOption{kt.BackoffLimit(0)}, kt.Policy(onFailure, -1), 1, nil, "0-3", ""},
		"each has its own": {nil, kt.Policy(onFailure, 1), 1, []int32{0, 1, 2, 3}, "", ""},
		"success with Always is no failure when the limit is spent": {[]kt.JobOption{kt.BackoffLimit(2)}, kt.Policy(always, -1), 0,
			[]int32{0, 1}, "", "2-3"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			// A master that runs on keeps the job from ending.
			options := append(tc.options, kt.Type("master", 1), kt.Type("worker", 4, tc.policy), success(v1beta1.FinishRule{"master": nil}), kt.Begun)
			job := kt.Job(options...)
			pods := append(kt.Pods(job, "worker", 4, kt.Exited(tc.code)), kt.Pod(job, "master", 0, kt.Running))
			d := plan(t, job, kt.Start, pods...)
			l := ledger(d.Status, "worker")
			var restarted []int32
			for _, r := range l.Replicas {
				require.EqualValues(t, 1, r.Attempt)
				require.EqualValues(t, 1, r.Restarts)
				restarted = append(restarted, r.Rank)
			}
			require.Equal(t, tc.restarted, restarted)
			require.Equal(t, tc.failed, l.Failed)
			require.Equal(t, tc.succeeded, l.Succeeded)
			require.EqualValues(t, len(tc.restarted), d.Status.BackoffCount)
		})
	}
}

func TestRestartDelays(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 100)), kt.Begun)
	now := kt.Start
	fail := func(lived time.Duration) time.Duration {
		now = now.Add(lived)
		d := plan(t, job, now, kt.Pod(job, "worker", 0, kt.ExitedAt(1, now), kt.StartedAt(now.Add(-lived))))
		job = after(job, d)
		var wait time.Duration
		for d = plan(t, job, now); len(d.Actions) == 0; d = plan(t, job, now) {
			require.Empty(t, plan(t, job, now.Add(d.RequeueAfter-time.Millisecond)).Actions, "too early")
			wait += d.RequeueAfter
			now = now.Add(d.RequeueAfter)
			job = after(job, d)
		}
		return wait
	}
	want := []time.Duration{0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300}
	for i, seconds := range want {
		require.Equal(t, seconds*time.Second, fail(9*time.Minute+59*time.Second), "failure %d", i)
	}
	require.Zero(t, fail(10*time.Minute), "a steady life ends the streak")
	require.Equal(t, time.Second, fail(time.Minute))
	require.EqualValues(t, 14, job.Status.BackoffCount)
}

// The status holds whole seconds: the delay is never cut short by that.
func TestRestartDelayIsRoundedUp(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 100)), kt.Begun)
	for range 2 {
		job = after(job, plan(t, job, kt.At(300*time.Millisecond), kt.Pod(job, "worker", 0, kt.Exited(1))))
	}
	require.Equal(t, kt.At(2*time.Second), ledger(job.Status, "worker").Replicas[0].NotBefore.Time)
}

func TestDisruptionsSpendNoLimit(t *testing.T) {
	asked := kt.At(-time.Minute)
	exited := func(code int32, reason string) kt.PodOption {
		return func(p *corev1.Pod) {
			kt.Exited(code)(p)
			p.Status.ContainerStatuses[0].State.Terminated.Reason = reason
		}
	}
	byKubelet := func(p *corev1.Pod) {
		kt.Disrupted(p)
		p.Status.Conditions[0].Reason = corev1.PodReasonTerminationByKubelet
	}
	tests := map[string]struct {
		pod  []kt.PodOption
		want string // Disrupted, Failed or Waits
		why  string
	}{
		"DisruptionTarget":                  {[]kt.PodOption{kt.Exited(137), kt.Disrupted}, "Disrupted", "was disrupted: EvictionByEvictionAPI"},
		"Evicted to help the node":          {[]kt.PodOption{kt.Running, kt.FailedWithout("Evicted"), kt.Disrupted}, "Disrupted", "was disrupted: EvictionByEvictionAPI"},
		"Evicted with an exit code":         {[]kt.PodOption{kt.Exited(137), kt.FailedWithout("Evicted"), kt.Disrupted}, "Disrupted", "was disrupted: EvictionByEvictionAPI"},
		"Evicted, and called Succeeded":     {[]kt.PodOption{kt.Exited(0), byKubelet}, "Disrupted", "was disrupted: TerminationByKubelet"},
		"NodeLost":                          {[]kt.PodOption{kt.Exited(1), kt.FailedWithout("NodeLost")}, "Disrupted", "was disrupted: NodeLost"},
		"Preempting":                        {[]kt.PodOption{kt.Exited(143), kt.FailedWithout("Preempting")}, "Disrupted", "was disrupted: Preempting"},
		"NodeShutdown":                      {[]kt.PodOption{kt.Exited(143), kt.FailedWithout("NodeShutdown")}, "Disrupted", "was disrupted: NodeShutdown"},
		"rejected by the kubelet":           {[]kt.PodOption{kt.Scheduled, kt.FailedWithout("OutOfcpu")}, "Disrupted", "was disrupted: OutOfcpu"},
		"no exit code":                      {[]kt.PodOption{kt.Scheduled, kt.FailedWithout("")}, "Disrupted", "ended without an exit code of its own"},
		"ContainerStatusUnknown":            {[]kt.PodOption{exited(137, "ContainerStatusUnknown")}, "Disrupted", "ended without an exit code of its own"},
		"lost by containerd":                {[]kt.PodOption{exited(255, "Unknown")}, "Disrupted", "ended without an exit code of its own"},
		"255 of its own":                    {[]kt.PodOption{exited(255, "Error")}, "Failed", "exited with error code 255"},
		"deleted, then 137":                 {[]kt.PodOption{kt.Exited(137), kt.Deleted(asked, 30*time.Second)}, "Disrupted", "was deleted"},
		"deleted, then 0":                   {[]kt.PodOption{kt.Exited(0), kt.Deleted(asked, 30*time.Second)}, "Disrupted", "was deleted"},
		"deleted before it had a node":      {[]kt.PodOption{kt.Deleted(asked, 0)}, "Disrupted", "was deleted"},
		"deleted by force":                  {[]kt.PodOption{kt.Running, kt.Deleted(asked, 0)}, "Disrupted", "was deleted"},
		"Terminating still":                 {[]kt.PodOption{kt.Running, kt.Deleted(asked, 30*time.Second)}, "Waits", ""},
		"Terminating for 5 minutes less 1s": {[]kt.PodOption{kt.Running, kt.Deleted(kt.At(-5*time.Minute-29*time.Second), 30*time.Second)}, "Waits", ""},
		"Terminating for 5 minutes":         {[]kt.PodOption{kt.Running, kt.Deleted(kt.At(-5*time.Minute-30*time.Second), 30*time.Second)}, "Disrupted", "is Terminating and its node node does not answer"},
		"its own exit code":                 {[]kt.PodOption{kt.Exited(137)}, "Failed", "exited with error code 137"},
		"its own deadline":                  {[]kt.PodOption{kt.Running, kt.FailedWithout("DeadlineExceeded")}, "Failed", "failed: DeadlineExceeded"},
		"DisruptionTarget that is False": {[]kt.PodOption{kt.Exited(1), kt.Disrupted, func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }},
			"Failed", "exited with error code 1"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1), kt.Begun) // limit 0: a failure would end the job
			d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, tc.pod...))
			require.Zero(t, d.Status.BackoffCount)
			switch tc.want {
			case "Disrupted":
				require.EqualValues(t, 1, d.Status.DisruptionCount)
				require.Nil(t, d.Status.CompletionTime)
				require.Equal(t, v1beta1.ReasonDisrupted, d.Events[0].Reason)
				require.Contains(t, d.Events[0].Message, tc.why)
				require.EqualValues(t, 1, ledger(d.Status, "worker").Replicas[0].Attempt)
			case "Failed":
				require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
				require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, tc.why)
			default:
				require.Zero(t, d.Status.DisruptionCount)
				require.Nil(t, d.Status.CompletionTime)
				require.Equal(t, []string{"MarkPod worker-0"}, did(d))
				require.Positive(t, d.RequeueAfter, "it must be looked at again")
			}
		})
	}
}

func TestStuckTerminatingPodIsReplacedByForce(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	stuck := []kt.PodOption{kt.Running, kt.Marked, kt.Deleted(kt.At(-time.Hour), 30*time.Second)}
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, stuck...))
	require.Equal(t, []string{"ReleasePod worker-0", "ForceDeletePod worker-0"}, did(d))

	d = planWorld(t, kernel.World{Job: job, Now: kt.At(time.Minute), Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, stuck...)}})
	require.Empty(t, d.Actions, "0 means never")
	require.Zero(t, d.RequeueAfter)
}

// A pod that somebody else's finalizer holds must not make the operator spin.
func TestAStrangersFinalizerDoesNotSpin(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	stuck := kt.Pod(job, "worker", 0, kt.Released, kt.Deleted(kt.At(-time.Hour), 0))
	job = after(job, plan(t, job, kt.Start, stuck))
	d := plan(t, job, kt.At(time.Minute), stuck)
	require.Empty(t, d.Actions)
	require.Zero(t, d.RequeueAfter)
}

func TestNeverDoesNotStartCodeTwice(t *testing.T) {
	tests := map[string]struct {
		pod  []kt.PodOption
		want v1beta1.JobPhase
	}{
		"evicted while running":     {[]kt.PodOption{kt.Exited(137), kt.Disrupted}, v1beta1.JobFailed},
		"lost with its node":        {[]kt.PodOption{kt.Running, kt.Deleted(kt.At(-time.Hour), 30*time.Second)}, v1beta1.JobFailed},
		"deleted before it started": {[]kt.PodOption{kt.Deleted(kt.Start, 0)}, v1beta1.JobPending},
		"rejected by the kubelet":   {[]kt.PodOption{kt.Scheduled, kt.FailedWithout("OutOfcpu")}, v1beta1.JobPending},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, kt.Policy(never, -1)), kt.Begun)
			d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, tc.pod...))
			require.Equal(t, tc.want, d.Status.Phase)
			if tc.want == v1beta1.JobFailed {
				require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "Disrupted")
			}
		})
	}
}
