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

// Nobody waits for who hung first if that one has failed for good, or was scaled away. What hangs then is a hang of its own.
func TestAHangOfWhoIsNotRunAgainIsOver(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker"}}
	job.Spec.Heartbeat = &v1beta1.Heartbeat{Stdout: "step"}
	found := metav1.Unix(1000, 0)
	for name, tc := range map[string]struct {
		failed   string
		replicas int32
		isOver   bool
	}{
		"it is run again":         {"", 3, false},
		"another one has failed":  {"0", 3, false},
		"it has failed for good":  {"1", 3, true},
		"another one is not kept": {"", 2, false},
		"it was scaled away":      {"", 1, true},
	} {
		job.Spec.ReplicaSpecs[0].Replicas = &tc.replicas
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Failed: tc.failed, Replicas: []v1beta1.RankRecord{{Rank: 1, Attempt: 1, Restarts: 1}}}}
		job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: v1beta1.ReplicaFailure{
			Time: &found, Pod: spec.PodName(job, "worker", 1), ExitCode: ptr.To[int32](output.HangCode), Message: output.HangBegins,
		}}
		d, err := ledger.Load(job)
		require.NoError(t, err)
		require.Equal(t, tc.isOver, lastHang(job, d.Ledger).counted.IsZero(), name)
	}
}

// The pod of the first failure may be gone, or have been replaced.
func TestAPodThatIsGoneIsOfNoType(t *testing.T) {
	replicaType, created := lookUpPod(&roster.Roster{}, "job-worker-0")
	require.Empty(t, replicaType)
	require.Zero(t, created)
}
