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

func endedAt(code int32, second int) kt.PodOption {
	return kt.ExitedAt(code, kt.At(time.Duration(second)*time.Second))
}

// An edit that cannot run keeps a job blocked, and hides no rule that says Fail.
func TestFailIsObeyedWhileAnEditBlocksTheJob(t *testing.T) {
	noSuchType := v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{Types: []string{"chef"}}, Action: failsJob}
	for name, pauses := range map[string]bool{"blocked": false, "to be paused": true} {
		job := kt.Job(kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), failureRules(on(failsJob, 17)), kt.Begun)
		job = after(job, plan(t, job, kt.Start, kt.Pods(job, "worker", 2, kt.Running)...))
		edited := kt.Edited(job, kt.PauseNow(pauses), failureRules(on(failsJob, 17), noSuchType))
		d := plan(t, edited, kt.At(time.Minute), exits(job, map[string][]int32{"worker": {alive, 17}})...)
		require.Equal(t, v1beta1.JobFailed, d.Status.Phase, name)
		require.Equal(t, v1beta1.ReasonFailurePolicy, condition(d.Status, v1beta1.ConditionFailed).Reason, name)
		d = plan(t, edited, kt.At(time.Minute), exits(job, map[string][]int32{"worker": {0, 17}})...)
		require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase, name)
	}
}

// A rule that restarts what hangs does so where policies do not, for all of a hang, which is counted once.
func TestARuleRestartsAllOfAHang(t *testing.T) {
	hang := v1beta1.FailurePolicyRule{Name: "hang", Match: v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseHang}}, Action: restarts}
	never := kt.Spec(func(s *v1beta1.GenericJobSpec) { kt.Policy(v1beta1.RestartNever, 9)(&s.ReplicaSpecs[0]) })
	for name, tc := range map[string]struct {
		rule               v1beta1.FailurePolicyRule
		restarts, excepted int32
	}{
		"counted":     {hang, 1, 0},
		"not counted": {uncounted(hang), 0, 1},
	} {
		for how, together := range map[string]bool{"one by one": false, "all at once": true} {
			job := hung(never, failureRules(tc.rule))
			pods := kt.Pods(job, "worker", 4, kt.Running)
			var events []kernel.Event
			for rank := range pods {
				pods[rank] = kt.Pod(job, "worker", rank, ended(0, 0, inData))
				if !together || rank == len(pods)-1 {
					d := plan(t, job, kt.At(2*time.Minute), pods...)
					job, events = after(job, d), append(events, d.Events...)
				}
			}
			require.Equal(t, v1beta1.JobPending, job.Status.Phase, "%s, %s", name, how)
			require.Equal(t, tc.restarts, job.Status.BackoffCount, "%s, %s", name, how)
			require.Equal(t, tc.excepted, job.Status.ExceptedCount, "%s, %s", name, how)
			require.Len(t, events, 4)
			for _, e := range events[1:] {
				require.NotContains(t, e.Message, "rule", "not a rule, but the hang leaves it uncounted")
			}
		}
	}
}

// With scope Job what is seen together ends as what is seen one by one.
func TestWhatRulesSeeTogetherEndsAsOneByOne(t *testing.T) {
	for name, tc := range map[string]struct {
		rule               v1beta1.FailurePolicyRule
		ends               []kt.PodOption
		phase              v1beta1.JobPhase
		restarts, excepted int32
	}{
		"a success that came after":       {uncounted(on(restarts, 3)), []kt.PodOption{endedAt(3, 0), endedAt(0, 9)}, v1beta1.JobPending, 0, 1},
		"a success that came first":       {uncounted(on(restarts, 3)), []kt.PodOption{endedAt(0, 0), endedAt(3, 9)}, v1beta1.JobPending, 1, 0},
		"Fail after a success":            {on(failsJob, 3), []kt.PodOption{endedAt(0, 0), endedAt(3, 9)}, v1beta1.JobPending, 1, 0},
		"Fail in the second of a success": {on(failsJob, 3), []kt.PodOption{endedAt(0, 0), endedAt(3, 0)}, v1beta1.JobFailed, 0, 0},
		"Fail before a success":           {on(failsJob, 3), []kt.PodOption{endedAt(3, 0), endedAt(0, 9)}, v1beta1.JobFailed, 0, 0},
	} {
		job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartAlways, -1)), kt.JobScope, kt.BackoffLimit(5), failureRules(tc.rule), kt.Begun)
		d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, tc.ends[0]), kt.Pod(job, "worker", 1, tc.ends[1]))
		require.Equal(t, tc.phase, d.Status.Phase, name)
		require.Equal(t, tc.restarts, d.Status.BackoffCount, name)
		require.Equal(t, tc.excepted, d.Status.ExceptedCount, name)
		if tc.phase == v1beta1.JobFailed {
			require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "exited with error code 3; rule")
			require.Len(t, d.Status.Failures, 1, name)
		}
	}
}

// A first failure that is final and matches no rule restarts nothing. What is seen with it counts as if it had been seen later.
func TestAFinalFailureHidesNoOtherFromRules(t *testing.T) {
	for name, tc := range map[string]struct {
		rule               v1beta1.FailurePolicyRule
		fails              bool
		restarts, excepted int32
	}{
		"Fail":         {on(failsJob, 17), true, 0, 0},
		"Restart":      {on(restarts, 17), false, 1, 0},
		"... excepted": {uncounted(on(restarts, 17)), false, 0, 1},
	} {
		for how, together := range map[string]bool{"one by one": false, "all at once": true} {
			job := kt.Job(kt.Type("worker", 3, kt.Policy(v1beta1.RestartExitCode, 5)), kt.JobScope, success(v1beta1.FinishRule{"worker": ranks(0)}), failureRules(tc.rule), kt.Begun)
			pods := kt.Pods(job, "worker", 3, kt.Running)
			pods[1] = kt.Pod(job, "worker", 1, endedAt(3, 0))
			if !together {
				job = after(job, plan(t, job, kt.At(time.Minute), pods...))
			}
			pods[2] = kt.Pod(job, "worker", 2, endedAt(17, 9))
			d := plan(t, job, kt.At(time.Minute), pods...)
			require.Equal(t, tc.fails, d.Status.CompletionTime != nil, "%s, %s", name, how)
			require.Equal(t, tc.restarts, d.Status.BackoffCount, "%s, %s", name, how)
			require.Equal(t, tc.excepted, d.Status.ExceptedCount, "%s, %s", name, how)
		}
	}
}

// Where several failures end a job, the message is about the one by which a rule fails it.
func TestTheMessageOfAFailedJobNamesTheRule(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.BackoffLimit(0), failureRules(on(failsJob, 17)), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, endedAt(1, 0)), kt.Pod(job, "worker", 1, endedAt(17, 9)), kt.Pod(job, "worker", 2, kt.Running))
	require.Equal(t, v1beta1.ReasonFailurePolicy, condition(d.Status, v1beta1.ConditionFailed).Reason)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, `rule "codes"`)
}

// The message says what was missing: the rule restarts it, whatever the policy.
func TestARuleThatFindsNoRestartLeftSaysSo(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartNever, 0)), kt.BackoffLimit(0), failureRules(on(restarts, 17)), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, endedAt(17, 0)))
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "no restarts are left")
}

// With policy Never a disruption is final, and may be the first failure that is told. Rules decide about what code did.
func TestAFinalDisruptionIsNotJudged(t *testing.T) {
	unknown := v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseUnknown}}, Action: failsJob}
	job, pods := running(t, 2, kt.Type("worker", 2, kt.Policy(v1beta1.RestartNever, 0)), kt.InPlace, kt.JobScope, failureRules(unknown))
	for rank, end := range []corev1.ContainerStateTerminated{
		{ExitCode: 137, Reason: "ContainerStatusUnknown", FinishedAt: metav1.NewTime(kt.At(time.Second))},
		{ExitCode: 1, Reason: "Error", FinishedAt: metav1.NewTime(kt.At(9 * time.Second)), Message: "exception: KeyError: 'x'\noutput:\n"},
	} {
		pods[rank] = with(pods[rank:rank+1], startedAgain(1, 1))[0]
		pods[rank].Status.ContainerStatuses[0].LastTerminationState.Terminated = &end
	}
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
	require.Equal(t, v1beta1.ReasonFailed, condition(d.Status, v1beta1.ConditionFailed).Reason)
}
