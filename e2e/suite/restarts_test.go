package suite_test

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// restartCases are jobs of one replica. Its first pod is run in any case.
var restartCases = map[string]struct {
	policy   string // spec.replicaSpecs[].restartPolicy
	steps    string
	restarts int
	says     string // the job fails with these words; "" if it succeeds
}{
	"never-fails":         {"{policy: Never, limit: 3}", "exit 1", 0, "exited with error code 1; restart policy Never does not restart it"},
	"never-succeeds":      {"{policy: Never}", "exit 0", 0, ""},
	"default-fails":       {"{}", "exit 2", 0, "exited with error code 2; no restarts are left"},
	"onfailure-0":         {"{policy: OnFailure, limit: 0}", "fail 1 7 then exit 0", 0, "exited with error code 7; no restarts are left"},
	"onfailure-1-enough":  {"{policy: OnFailure, limit: 1}", "fail 1 1 then exit 0", 1, ""},
	"onfailure-1-spent":   {"{policy: OnFailure, limit: 1}", "exit 3", 1, "exited with error code 3; no restarts are left"},
	"onfailure-3-enough":  {"{policy: OnFailure, limit: 3}", "fail 3 1 then exit 0", 3, ""},
	"onfailure-3-spent":   {"{policy: OnFailure, limit: 3}", "exit 255", 3, "exited with error code 255; no restarts are left"},
	"onfailure-3-unused":  {"{policy: OnFailure, limit: 3}", "exit 0", 0, ""},
	"always-0":            {"{policy: Always, limit: 0}", "exit 0", 0, ""},
	"always-1":            {"{policy: Always, limit: 1}", "exit 0", 1, ""},
	"always-3":            {"{policy: Always, limit: 3}", "fail 1 5 then exit 0", 3, ""},
	"always-1-fails":      {"{policy: Always, limit: 1}", "exit 5", 1, "exited with error code 5; no restarts are left"},
	"exitcode-0":          {"{policy: ExitCode, limit: 0}", "exit 137", 0, "exited with error code 137"},
	"exitcode-1":          {"{policy: ExitCode, limit: 1}", "fail 1 143 then exit 0", 1, ""},
	"exitcode-3-spent":    {"{policy: ExitCode, limit: 3}", "exit 138", 3, "exited with error code 138; no restarts are left"},
	"exitcode-3-other":    {"{policy: ExitCode, limit: 3}", "exit 1", 0, "exited with error code 1; restart policy ExitCode does not restart it"},
	"exitcode-own-list":   {"{policy: ExitCode, limit: 3, exitCodes: [42]}", "fail 2 42 then exit 0", 2, ""},
	"exitcode-not-listed": {"{policy: ExitCode, limit: 3, exitCodes: [42]}", "exit 137", 0, "restart policy ExitCode does not restart it"},
}

func restartsFollowPolicyAndLimit(s *space) {
	for name, tc := range restartCases {
		s.submit(name, fmt.Sprintf(`{replicaSpecs: [{type: worker, restartPolicy: %s, template: %s}]}`, tc.policy, pod(tc.steps)))
	}
	s.submit("shared", `{backoffLimit: 3, replicaSpecs: [{type: worker, replicas: 2, template: `+pod("fail 2 4 0 then fail 1 4 1")+`}]}`)
	s.submit("shared-spent", `{backoffLimit: 2, replicaSpecs: [{type: worker, template: `+pod("exit 4")+`}]}`)
	for name, tc := range restartCases {
		want := v1beta1.JobSucceeded
		if tc.says != "" {
			want = v1beta1.JobFailed
		}
		job := s.awaitPhase(name, want)
		require.EqualValues(s.t, tc.restarts, job.Status.BackoffCount, name)
		require.EqualValues(s.t, tc.restarts, job.Status.Tasks[0].RestartCount, name)
		require.Zero(s.t, job.Status.DisruptionCount, name)
		s.requireRuns(job, "worker", 1+tc.restarts)
		s.awaitReleased(job)
		if tc.says != "" {
			failed := condition(job, v1beta1.ConditionFailed)
			require.Equal(s.t, v1beta1.ReasonFailed, failed.Reason, name)
			require.Contains(s.t, failed.Message, tc.says, name)
		}
	}
	for name, runs := range map[string][]int{"shared": {3, 2}, "shared-spent": {3}} {
		want := v1beta1.JobSucceeded
		if name == "shared-spent" {
			want = v1beta1.JobFailed
		}
		job := s.awaitPhase(name, want)
		require.Equal(s.t, *job.Spec.BackoffLimit, job.Status.BackoffCount, name)
		s.requireRuns(job, "worker", runs...)
	}
}

func outOfMemoryIsTold(s *space) {
	job := s.submit("hungry", `{replicaSpecs: [{type: worker, restartPolicy: {policy: Never}, template: {spec: {containers: [
		{name: main, image: `+image+`, imagePullPolicy: Never, args: [eat], resources: {limits: {memory: 24Mi}}}]}}}]}`)
	failed := condition(s.awaitPhase("hungry", v1beta1.JobFailed), v1beta1.ConditionFailed)
	require.Contains(s.t, failed.Message, "exited with error code 137: container main ran out of memory (OOMKilled); raise its memory limit")
	s.requireRuns(job, "worker", 1)
}

func jobScopeReplacesAll(s *space) {
	job := s.submit("collective", `
restartScope: Job
replicaSpecs:
- {type: worker, replicas: 3, restartPolicy: {policy: OnFailure, limit: 1}, template: `+pod("obey")+`}`)
	s.awaitRunning("collective", "3/3")
	s.end(job, "worker", 2, 0)
	s.await("collective", "worker-2 succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	s.end(job, "worker", 1, 1)
	s.await("collective", "the second attempt runs", func(j *v1beta1.GenericJob) bool {
		return j.Status.JobAttempt == 1 && j.Status.Running == "3/3"
	})
	for rank := range 3 {
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("collective", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 2, 2, 2)
}
