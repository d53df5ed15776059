package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// failureRules gives a job rules of its failure policy.
func failureRules(rules ...v1beta1.FailurePolicyRule) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.FailurePolicy = &v1beta1.FailurePolicy{Rules: rules} })
}

// on is a rule about exit codes.
func on(action v1beta1.FailureAction, codes ...int32) v1beta1.FailurePolicyRule {
	return v1beta1.FailurePolicyRule{Name: "codes", Match: v1beta1.FailureMatch{ExitCodes: codes}, Action: action}
}

// uncounted has a rule not count its restarts.
func uncounted(r v1beta1.FailurePolicyRule) v1beta1.FailurePolicyRule {
	r.Counts = new(false)
	return r
}

const (
	failsJob = v1beta1.FailureActionFail
	restarts = v1beta1.FailureActionRestart
)

func TestTheFirstRuleThatMatchesIsTaken(t *testing.T) {
	value := v1beta1.ReplicaFailure{ExitCode: new(int32(1)), Exception: "ValueError: loss is nan", Cause: &v1beta1.Cause{Kind: v1beta1.CauseNotANumber}}
	peer := v1beta1.ReplicaFailure{ExitCode: new(int32(1)), Exception: "RuntimeError: Connection closed by peer", Follows: "a peer closed its connection",
		Cause: &v1beta1.Cause{Kind: v1beta1.CauseNetwork, Role: v1beta1.CauseCascade}}
	torchrun := v1beta1.ReplicaFailure{ExitCode: new(int32(1)), WorkerExitCode: new(int32(17)), Message: "rank 3 exited with code 17"}
	killed := v1beta1.ReplicaFailure{ExitCode: new(int32(1)), WorkerSignal: "SIGKILL"}
	earlier := v1beta1.ReplicaFailure{ExitCode: new(int32(1))} // of a build that told no cause
	for name, tc := range map[string]struct {
		on      v1beta1.FailureMatch
		failure v1beta1.ReplicaFailure
		want    bool
	}{
		"a cause":                       {v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseHang, v1beta1.CauseNotANumber}}, value, true},
		"another cause":                 {v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseHang}}, value, false},
		"no cause is known":             {v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseUnknown}}, earlier, false},
		"a cause that is a consequence": {v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseNetwork}}, peer, false},
		"words":                         {v1beta1.FailureMatch{Messages: "^ValueError: .*nan"}, value, true},
		"other words":                   {v1beta1.FailureMatch{Messages: "^KeyError"}, value, false},
		"words of a consequence":        {v1beta1.FailureMatch{Messages: "Connection"}, peer, false},
		"the message where there is no exception":                          {v1beta1.FailureMatch{Messages: "code 17"}, torchrun, true},
		"the code of a consequence":                                        {v1beta1.FailureMatch{ExitCodes: []int32{1}}, peer, true},
		"the worker's code":                                                {v1beta1.FailureMatch{ExitCodes: []int32{17}}, torchrun, true},
		"its launcher's code is not the worker's":                          {v1beta1.FailureMatch{ExitCodes: []int32{1}}, torchrun, false},
		"the code of its launcher is not that of a worker that was killed": {v1beta1.FailureMatch{ExitCodes: []int32{1}}, killed, false},
		"a worker that was killed has the code of a shell":                 {v1beta1.FailureMatch{ExitCodes: []int32{137}}, killed, true},
		"its type":      {v1beta1.FailureMatch{Types: []string{"ps", "worker"}}, value, true},
		"another type":  {v1beta1.FailureMatch{Types: []string{"ps"}}, value, false},
		"all must hold": {v1beta1.FailureMatch{Types: []string{"worker"}, ExitCodes: []int32{3}}, value, false},
		"... and do":    {v1beta1.FailureMatch{Types: []string{"worker"}, ExitCodes: []int32{1}, Messages: "nan"}, value, true},
	} {
		other := v1beta1.FailurePolicyRule{Name: "other", Match: v1beta1.FailureMatch{ExitCodes: []int32{255}}, Action: failsJob}
		rule, called := kernel.FailureRule([]v1beta1.FailurePolicyRule{other, {Match: tc.on, Action: failsJob}}, "worker", &tc.failure)
		require.Equal(t, tc.want, rule != nil, name)
		if rule != nil {
			require.Equal(t, "2", called, "a rule without a name has a number")
		}
	}
	rule, called := kernel.FailureRule([]v1beta1.FailurePolicyRule{on(restarts, 1), on(failsJob, 1)}, "worker", &value)
	require.Equal(t, restarts, rule.Action)
	require.Equal(t, `"codes"`, called)
}

func TestRulesDecideBeforeLimitsDo(t *testing.T) {
	type ends map[string][]int32
	for name, tc := range map[string]struct {
		job                *v1beta1.GenericJob
		ends               ends
		phase              v1beta1.JobPhase
		restarts, excepted int32
		says               string
	}{
		"Fail ends the job, though restarts are left": {kt.Job(kt.Type("worker", 2), kt.BackoffLimit(3), failureRules(on(failsJob, 17)), kt.Begun),
			ends{"worker": {17, alive}}, v1beta1.JobFailed, 0, 0, `rule "codes" of failurePolicy fails the job`},
		"what no rule matches is restarted": {kt.Job(kt.Type("worker", 2), kt.BackoffLimit(3), failureRules(on(failsJob, 17)), kt.Begun),
			ends{"worker": {1, alive}}, v1beta1.JobPending, 1, 0, "restart 1 of 3"},
		"Fail ends a job that one failure need not end": {kt.Job(kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), failureRules(on(failsJob, 17)), kt.Begun),
			ends{"worker": {alive, 17}}, v1beta1.JobFailed, 0, 0, "fails the job"},
		"success is seen first": {kt.Job(kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), failureRules(on(failsJob, 17)), kt.Begun),
			ends{"worker": {0, 17}}, v1beta1.JobSucceeded, 0, 0, ""},
		"Restart is made under policy Never": {kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartNever, 2)), failureRules(on(restarts, 3)), kt.Begun),
			ends{"worker": {3, alive}}, v1beta1.JobPending, 1, 0, `(restart 1 of 2), by rule "codes" of failurePolicy`},
		"... and not beyond the limit": {kt.Job(kt.Type("worker", 2), kt.BackoffLimit(0), failureRules(on(restarts, 3)), kt.Begun),
			ends{"worker": {3, alive}}, v1beta1.JobFailed, 0, 0, "no restarts are left"},
		"a restart that is not counted needs no limit": {kt.Job(kt.Type("worker", 2), kt.BackoffLimit(0), failureRules(uncounted(on(restarts, 3))), kt.Begun),
			ends{"worker": {3, alive}}, v1beta1.JobPending, 0, 1, `which does not count it`},
		"with scope Job the first is judged, for all": {kt.Job(kt.Type("worker", 3), kt.BackoffLimit(0), kt.JobScope, failureRules(uncounted(on(restarts, 3))), kt.Begun),
			ends{"worker": {143, 3, 143}}, v1beta1.JobPending, 0, 1, "which does not count it"},
		"... and fails the job": {kt.Job(kt.Type("worker", 3), kt.BackoffLimit(5), kt.JobScope, failureRules(on(failsJob, 3)), kt.Begun),
			ends{"worker": {143, 3, alive}}, v1beta1.JobFailed, 0, 0, "fails the job"},
		"an auxiliary replica is judged by no rule": {kt.Job(kt.Type("worker", 1), kt.Type("store", 1, func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }), failureRules(on(failsJob, 3)), kt.Begun),
			ends{"worker": {alive}, "store": {3}}, v1beta1.JobPending, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.Start, exits(tc.job, tc.ends)...)
			require.Equal(t, tc.phase, d.Status.Phase)
			require.Equal(t, tc.restarts, d.Status.BackoffCount)
			require.Equal(t, tc.excepted, d.Status.ExceptedCount)
			told := condition(d.Status, v1beta1.ConditionReplicaFailure).Message
			if tc.says != "" {
				require.Contains(t, told, tc.says)
			}
			if tc.phase == v1beta1.JobFailed && tc.says != "no restarts are left" {
				require.Equal(t, v1beta1.ReasonFailurePolicy, condition(d.Status, v1beta1.ConditionFailed).Reason)
			}
		})
	}
}

// A disruption is no failure, and excuses those beside it where all restart together.
func TestRulesDoNotJudgeDisruptions(t *testing.T) {
	alone := kt.Job(kt.Type("worker", 2), failureRules(on(failsJob, 137)), kt.Begun)
	d := plan(t, alone, kt.Start, kt.Pod(alone, "worker", 0, kt.Exited(137), kt.Disrupted), kt.Pod(alone, "worker", 1, kt.Running))
	require.Nil(t, d.Status.CompletionTime)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	whole := kt.Job(kt.Type("worker", 2), kt.JobScope, failureRules(on(failsJob, 1)), kt.Begun)
	d = plan(t, whole, kt.Start, kt.Pod(whole, "worker", 0, kt.Exited(137), kt.Disrupted), kt.Pod(whole, "worker", 1, kt.Exited(1)))
	require.Nil(t, d.Status.CompletionTime)
}

// Where restarts are not counted, the delay between them grows all the same.
func TestRestartsThatAreNotCountedAreDelayed(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), failureRules(uncounted(on(restarts, 3))), kt.Begun)
	now := kt.Start
	for range 4 {
		job = after(job, plan(t, job, now, kt.Pod(job, "worker", 0, kt.ExitedAt(3, now))))
		now = now.Add(time.Minute)
	}
	require.EqualValues(t, 4, job.Status.ExceptedCount)
	require.Zero(t, job.Status.BackoffCount)
	record := ledger(job.Status, "worker").Replicas[0]
	require.EqualValues(t, 4, record.Streak)
	require.Zero(t, record.Restarts)
	require.True(t, record.NotBefore.After(now.Add(-time.Minute)))
}

// 93 is the code by which NVIDIA's ft_launcher says that no restart is to be made; see failure-policy.md.
func TestExitCode93IsNotRestarted(t *testing.T) {
	rule := v1beta1.FailurePolicyRule{Name: "do-not-restart", Match: v1beta1.FailureMatch{ExitCodes: []int32{93}}, Action: failsJob}
	for name, job := range map[string]*v1beta1.GenericJob{
		"one by one":  kt.Job(kt.Type("worker", 2), kt.BackoffLimit(3), failureRules(rule), kt.Begun),
		"together":    kt.Job(kt.Type("worker", 2), kt.BackoffLimit(3), kt.JobScope, failureRules(rule), kt.Begun),
		"by one list": kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartExitCode, 3, 93)), failureRules(rule), kt.Begun),
	} {
		d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Exited(93)))
		require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, `exited with error code 93; rule "do-not-restart" of failurePolicy fails the job`, name)
		d = plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Exited(92)))
		require.NotContains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "do-not-restart", name)
	}
}
