package kernel

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// The order of the rules is the semantics of GenericJob and is documented: whoever changes it changes README.md of this folder too.
func TestRuleOrderIsAsDocumented(t *testing.T) {
	var names []string
	for _, r := range rules {
		names = append(names, r.name)
	}
	manual, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(manual), "| rule | applies when | effect |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\w+) \|`).FindAllStringSubmatch(table, -1) {
		documented = append(documented, row[1])
	}
	require.NotEmpty(t, documented)
	require.Equal(t, documented, names)
	require.NotEqual(t, verdict.None, rules[len(rules)-1].test(facts{}).Course, "the last rule must always have an opinion")
}

func TestVerbsAreOrderedByTier(t *testing.T) {
	last := 0
	for _, verb := range []Verb{
		StopPod, MarkPod, ReleasePod, EndPod, OrderPod, DeletePod, ForceDeletePod, DeleteObject, WriteObjectStatus,
		CreateService, UpdateService, ApplyObject, CreateObject, CreatePod, DeleteJob,
	} {
		require.GreaterOrEqual(t, verb.Tier(), last, verb)
		last = verb.Tier()
	}
	for _, verb := range []Verb{CreateService, UpdateService, ApplyObject, CreateObject, CreatePod} {
		require.True(t, verb.Creates(), verb)
	}
	for _, verb := range []Verb{StopPod, MarkPod, ReleasePod, EndPod, OrderPod, DeletePod, ForceDeletePod, DeleteObject, WriteObjectStatus, DeleteJob} {
		require.False(t, verb.Creates(), verb)
	}
}

// Who hung first and has failed for good is waited for by nobody: what hangs then is a hang of its own.
func TestAHangOfWhoHasFailedForGoodIsOver(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: ptr.To[int32](3)}}
	job.Spec.Heartbeat = &v1beta1.Heartbeat{Stdout: "step"}
	found := metav1.Unix(1000, 0)
	for failed, over := range map[string]bool{"": false, "0": false, "1": true} {
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Failed: failed}}
		job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: v1beta1.ReplicaFailure{
			Time: &found, Pod: spec.PodName(job, "worker", 1), ExitCode: ptr.To[int32](output.HangCode), Message: output.HangBegins,
		}}
		d, err := ledger.Load(job)
		require.NoError(t, err)
		require.Equal(t, over, lastHang(job, d.Ledger).foundAt.IsZero(), failed)
	}
}

// The pod of the first failure may be gone, or have been replaced.
func TestAPodThatIsGoneIsOfNoType(t *testing.T) {
	require.Empty(t, typeOf(&roster.Roster{}, "job-worker-0"))
}
