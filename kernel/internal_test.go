package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel/verdict"
)

// The order of the rules is the semantics of GenericJob and is documented: whoever changes it changes README.md of this folder too.
func TestRuleOrderIsAsDocumented(t *testing.T) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	require.Equal(t, []string{
		"AlreadyFinished", "InvalidSpec", "RejectedByCluster", "Succeeded", "Failed", "SuccessUnreachable",
		"DeadlineExceeded", "Paused", "Queued", "GangUnavailable", "Run",
	}, names)
	require.NotEqual(t, verdict.None, rules[len(rules)-1].test(facts{}).Course, "the last rule must always have an opinion")
}

func TestVerbsAreOrderedByGroup(t *testing.T) {
	last := 0
	for _, verb := range []Verb{
		StopPod, MarkPod, ReleasePod, EndPod, OrderPod, DeletePod, ForceDeletePod, DeleteObject, ReportObject,
		CreateService, UpdateService, ApplyObject, CreateObject, CreatePod, DeleteJob,
	} {
		require.GreaterOrEqual(t, verb.Group(), last, verb)
		last = verb.Group()
	}
	for _, verb := range []Verb{CreateService, UpdateService, ApplyObject, CreateObject, CreatePod} {
		require.True(t, verb.Creates(), verb)
	}
	for _, verb := range []Verb{StopPod, MarkPod, ReleasePod, EndPod, OrderPod, DeletePod, ForceDeletePod, DeleteObject, ReportObject, DeleteJob} {
		require.False(t, verb.Creates(), verb)
	}
}
