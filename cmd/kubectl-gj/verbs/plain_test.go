package verbs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Who looks at the job of a tenant gets words, whatever is in them.
func TestNoTextOfAJobActsOnATerminal(t *testing.T) {
	s := newSpace(t)
	const attack = "\x1b[2Jspec.\x1b]0;owned\afield\u009b31m is wrong"
	job := s.genericJob("attacks", func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobFailed
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionFailed, "True", "InvalidSpec", attack)}
		job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: "attacks-worker-0", Message: attack}}
	})
	s.pod(job, 0, "node-a", corev1.PodStatus{Phase: corev1.PodFailed, Reason: attack, Message: attack})
	for _, line := range []string{
		"why attacks", "tree attacks", "tree attacks -w", "top", "wait attacks", "logs attacks --first-failure",
		"why attacks -o json", "tree attacks -o yaml", "report attacks", "list -o html", "why \x1b[2J",
	} {
		out, problem, _ := s.types(strings.Fields(line)...)
		require.NotContains(t, out+problem, "\x1b", line)
		require.NotContains(t, out+problem, "\u009b", line)
		require.NotEmpty(t, out+problem)
	}
	require.Contains(t, s.sees("why", "attacks"), `\u001b[2Jspec.\u001b]0;owned\u0007field\u009b31m is wrong`)
}
