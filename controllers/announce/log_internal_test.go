package announce

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// TestALineOfANewPhaseHasTheConditionThatExplainsIt: an admin who reads of a failure wants its reason, and not that of Running beside it.
func TestALineOfANewPhaseHasTheConditionThatExplainsIt(t *testing.T) {
	s := &v1beta1.GenericJobStatus{}
	for _, c := range []v1beta1.JobConditionType{
		v1beta1.ConditionRunning, v1beta1.ConditionFailed, v1beta1.ConditionCompleted, v1beta1.ConditionPaused, v1beta1.ConditionBlocked,
	} {
		s.Conditions = append(s.Conditions, v1beta1.JobCondition{Type: c, Reason: "Of" + string(c), Message: "why " + string(c)})
	}
	for phase, want := range map[v1beta1.JobPhase]v1beta1.JobConditionType{
		v1beta1.JobPending: v1beta1.ConditionRunning, v1beta1.JobRunning: v1beta1.ConditionRunning, v1beta1.JobFailed: v1beta1.ConditionFailed,
		v1beta1.JobSucceeded: v1beta1.ConditionCompleted, v1beta1.JobPaused: v1beta1.ConditionPaused, v1beta1.JobUnknown: v1beta1.ConditionBlocked,
	} {
		require.Equal(t, `"level"=0 "msg"="new phase" "phase"="`+string(phase)+`" "before"="Queued" "reason"="Of`+string(want)+`" "message"="why `+string(want)+`"`,
			logged(t, func(ctx context.Context) { Phase(ctx, "Queued", phase, s) }))
	}
	require.Contains(t, logged(t, func(ctx context.Context) { Phase(ctx, "", v1beta1.JobRunning, &v1beta1.GenericJobStatus{}) }), `"reason"=""`,
		"a job without conditions has a line, too")
}

// TestOnlyWarningsHaveLines: what goes well is told by the line of a new phase.
func TestOnlyWarningsHaveLines(t *testing.T) {
	list := []kernel.Event{{Reason: "Fine", Message: "a"}, {Reason: "Wrong", Message: "b", Warning: true}}
	require.Equal(t, `"level"=0 "msg"="warning" "reason"="Wrong" "message"="b"`, logged(t, func(ctx context.Context) { Warnings(ctx, list) }))
}

// logged returns the lines that a function logs.
func logged(t *testing.T, write func(context.Context)) string {
	t.Helper()
	var lines []string
	write(log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})))
	return strings.Join(lines, "\n")
}
