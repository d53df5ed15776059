package kernel_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// The ends and actions, as the list has them.
const (
	endsAuxiliary   kernel.DefaultEnd    = "an auxiliary replica ends"
	endsUnstarted   kernel.DefaultEnd    = "something outside ends a pod before its code has started"
	endsByOutside   kernel.DefaultEnd    = "something outside ends a pod"
	endsWithSuccess kernel.DefaultEnd    = "code exits with 0"
	endsByRule      kernel.DefaultEnd    = "code fails, and a rule of failurePolicy matches"
	endsListed      kernel.DefaultEnd    = "code fails with one of exitCodes"
	endsFailed      kernel.DefaultEnd    = "code fails"
	thenReplaced    kernel.DefaultAction = "it is replaced, and no limit counts that"
	thenRestarted   kernel.DefaultAction = "it is restarted, which counts; if no restart is left, it has failed for good"
	thenRunsAgain   kernel.DefaultAction = "it is restarted, which counts; if no restart is left, it has succeeded"
	thenSucceeded   kernel.DefaultAction = "it has succeeded"
	thenFailed      kernel.DefaultAction = "it has failed for good"
	thenByRule      kernel.DefaultAction = "the first rule that matches decides"
)

// become is what has become of the first replica of a type.
func become(s *v1beta1.GenericJobStatus, replicaType string) kernel.DefaultAction {
	l := v1beta1.TaskLedger{}
	for _, l = range s.Ledger {
		if l.Type == replicaType {
			break
		}
	}
	switch {
	case l.Succeeded != "":
		return thenSucceeded
	case l.Failed != "":
		return thenFailed
	case s.BackoffCount > 0:
		return thenRestarted
	case len(l.Replicas) > 0 && l.Replicas[0].Attempt == 1:
		return thenReplaced
	default:
		return ""
	}
}

// The list that is printed is what Plan does, for each policy, each end, and whether a restart is left or none.
func TestTheDefaultsAreWhatIsDone(t *testing.T) {
	ends := map[kernel.DefaultEnd]struct {
		auxiliary, ruled bool
		end              []kt.PodOption
	}{
		endsAuxiliary:   {true, false, []kt.PodOption{kt.Exited(1)}},
		endsUnstarted:   {false, false, []kt.PodOption{kt.FailedWithout("Evicted")}},
		endsByOutside:   {false, false, []kt.PodOption{kt.Exited(1), kt.Disrupted}},
		endsWithSuccess: {false, false, []kt.PodOption{kt.Exited(0)}},
		endsByRule:      {false, true, []kt.PodOption{kt.Exited(3)}},
		endsListed:      {false, false, []kt.PodOption{kt.Exited(138)}},
		endsFailed:      {false, false, []kt.PodOption{kt.Exited(1)}},
	}
	seen := map[kernel.DefaultRule]bool{}
	for end, how := range ends {
		for _, policy := range []v1beta1.RestartPolicyType{"", v1beta1.RestartNever, v1beta1.RestartOnFailure, v1beta1.RestartExitCode, v1beta1.RestartAlways} {
			for _, left := range []int32{0, 1} {
				rule := ruleOf(end, policy)
				seen[rule] = true
				job := kt.Job(kt.Type("worker", 1), kt.Type("other", 1), kt.BackoffLimit(left), kt.Begun)
				switch {
				case how.auxiliary:
					job.Spec.ReplicaSpecs[0].Auxiliary = true
				case policy != "":
					job.Spec.ReplicaSpecs[0].RestartPolicy = &v1beta1.RestartPolicy{Policy: policy}
				}
				if how.ruled {
					job.Spec.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{
						{Match: v1beta1.FailureMatch{ExitCodes: []int32{3}}, Action: v1beta1.FailureActionRestart, Counts: new(false)},
					}}
				}
				d := kernel.Plan(kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, how.end...), kt.Pod(job, "other", 0, kt.Running)}, Now: kt.Start, Settings: kt.Settings})
				want := rule.Does
				switch {
				case rule.Does == thenRestarted && left == 0:
					want = thenFailed
				case rule.Does == thenRunsAgain && left == 0:
					want = thenSucceeded
				case rule.Does == thenRunsAgain:
					want = thenRestarted
				case rule.Does == thenByRule:
					want = thenReplaced // and status.exceptedCount counts it
				}
				require.Equal(t, want, become(&d.Status, "worker"), "%s, restartPolicy %q, restarts left %d", end, policy, left)
			}
		}
	}
	require.Len(t, seen, len(kernel.Defaults()), "every rule is needed")
}

// ruleOf is the first of the defaults that matches.
func ruleOf(end kernel.DefaultEnd, policy v1beta1.RestartPolicyType) kernel.DefaultRule {
	matches := func(of kernel.DefaultEnd) bool {
		return of == end || of == endsFailed && (end == endsListed || end == endsByRule) || of == endsByOutside && end == endsUnstarted
	}
	for _, r := range kernel.Defaults() {
		if matches(r.End) && (r.RestartPolicy == "" || r.RestartPolicy == policy) {
			return r
		}
	}
	return kernel.DefaultRule{}
}

func TestTheDocumentListsTheDefaults(t *testing.T) {
	text, err := os.ReadFile("failure-policy.md")
	require.NoError(t, err)
	require.Contains(t, string(text), "```text\n"+kernel.DefaultsText()+"```")
}
