package verbs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
)

func TestWhy(t *testing.T) {
	s := newSpace(t)
	s.genericJob("stuck", func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobPending
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionBlocked, "True", "CreateFailed", "exceeded quota. Free what is short.")}
	})
	require.Equal(t, "GenericJob/stuck: Pending. exceeded quota. Free what is short.\n", s.sees("why", "stuck"))
	require.Contains(t, s.sees("why", "stuck", "-o", "json"), `"reason": "CreateFailed"`)
}

// Rules are tried on what has failed, before they are given to a job.
func TestWhyWithRules(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("failed", phase(v1beta1.JobFailed))
	pod := func(rank int) string { return spec.PodName(job, "worker", rank) }
	code := int32(1)
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Failures = []v1beta1.ReplicaFailure{
			{Pod: pod(0), ExitCode: new(int32(17)), Cause: &v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot}},
			{Pod: pod(1), ExitCode: &code, Exception: "RuntimeError: CUDA out of memory", Cause: &v1beta1.Cause{Kind: v1beta1.CauseDeviceOutOfMemory, Role: v1beta1.CauseRoot}},
			{Pod: pod(1), ExitCode: &code, Follows: "a peer closed its connection", Cause: &v1beta1.Cause{Kind: v1beta1.CauseNetwork, Role: v1beta1.CauseCascade}},
			{Pod: pod(1), ExitCode: new(int32(3))},
			{Pod: pod(1), ExitCode: new(int32(4))},
		}
	})
	file := filepath.Join(t.TempDir(), "rules.yaml")
	rules := `rules:
- match: {exitCodes: [17], types: [worker]}
  action: Fail
- name: memory
  match: {causes: [DeviceOutOfMemory, Network]}
  action: Restart
  counts: false
- {match: {exitCodes: [4]}, action: Restart, elsewhere: true}
`
	require.NoError(t, os.WriteFile(file, []byte(rules), 0o600))
	require.Equal(t, fmt.Sprintf(`Pod[%s]: exit code 17 [Unknown]: rule 1 fails the job
Pod[%s]: exit code 1, "RuntimeError: CUDA out of memory" [DeviceOutOfMemory]: rule "memory" restarts it, which does not count
`, pod(0), pod(1)), strings.Join(strings.SplitAfter(s.sees("why", "failed", "--rules", file), "\n")[:2], ""))
	rest := s.sees("why", "failed", "--rules", file)
	require.Contains(t, rest, "no rule matches, for it follows from another's end")
	require.Contains(t, rest, "exit code 3: no rule matches: restartPolicy and the limits decide")
	require.Contains(t, rest, "exit code 4: rule 3 would restart it elsewhere, which counts, but no restart is left now (0 of 0, unless you raise restartPolicy.limit of type worker): it fails for good")
	require.Contains(t, rest, "\nIgnored: failurePolicy.rules[2].elsewhere is true, but the job avoids no nodes")
	require.Contains(t, s.sees("why", "failed", "--rules", file, "-o", "json"), `"rule": "memory"`)
	s.genericJob("fine", phase(v1beta1.JobRunning))
	require.Equal(t, "[]", strings.TrimSpace(s.sees("why", "fine", "--rules", file, "-o", "json")))
	require.Contains(t, s.sees("why", "fine", "--rules", file), "The status of GenericJob/fine knows no failure.\n")
	require.Equal(t, kernel.DefaultsText(), s.sees("why", "--rules", "defaults"))
	require.Contains(t, s.sees("why", "--rules", "defaults", "-o", "json"), `"restartPolicy": "Never"`)
	_, told, exits := s.types("why", "failed", "--rules", "defaults")
	require.Equal(t, 2, exits)
	require.Contains(t, told, "want no NAME beside --rules defaults")
	for text, problem := range map[string]string{
		"rules: [{match: {types: [wrker]}, action: Fail}]": `rules[0].match.types: "wrker": no replica spec has this type: want one of [worker]`,
		"rules: []": "rules is empty", "rule: []": "want `rules:`", "rules: [{match: {}, action: Fail}]": "match names nothing",
		"rules: [{match: {exitCodes: [1]}, action: Ignore}]":                `action is "Ignore", which this kubectl gj does not know: want Fail or Restart, or upgrade it`,
		"rules: [{match: {causes: [Gremlins]}, action: Fail}]":              "Gremlins",
		"failurePolicy: {rules: [{match: {messages: 'x('}, action: Fail}]}": "messages",
		"failurePolicy: {rules: [{match: {messages: x}, acton: Fail}]}":     `unknown field "acton"`,
		"rules: [{match: {exitCodes: [0]}, action: Fail}]":                  "exitCodes has 0: want codes from 1 to 255",
		"rules: [{match: {exitCodes: [1]}, action: Fail, counts: false}]":   "counts is about a restart",
		"rules: [{match: {exitCodes: [1]}, action: Fail, elsewhere: true}]": "elsewhere is about a restart",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, told, code := s.types("why", "failed", "--rules", file)
		require.Equal(t, 2, code, text)
		require.Contains(t, told, problem)
	}
}
