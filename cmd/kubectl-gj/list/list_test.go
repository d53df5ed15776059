package list

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func family(name string, s v1beta1.GenericJobStatus) *jobs.Family {
	job := &v1beta1.GenericJob{Status: s}
	job.Name, job.Namespace, job.CreationTimestamp = name, "ns", metav1.NewTime(start)
	return jobs.NewFamily(jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), job, job, nil)
}

func after(minutes int) *metav1.Time {
	return ptr.To(metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute)))
}

func TestTable(t *testing.T) {
	families := []*jobs.Family{
		family("new", v1beta1.GenericJobStatus{}),
		family("trains", v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, Running: "2/2", StartTime: after(1), BackoffCount: 1,
			Progress: &v1beta1.Progress{Step: ptr.To[int64](70), Loss: "0.25"},
			Failures: []v1beta1.ReplicaFailure{{ExitCode: ptr.To[int32](3), Message: "loss is nan"}}}),
		family("done", v1beta1.GenericJobStatus{Phase: v1beta1.JobSucceeded, StartTime: after(1), CompletionTime: after(31)}),
		family("broken", v1beta1.GenericJobStatus{Phase: v1beta1.JobFailed, Running: "59 left", StartTime: after(1), CompletionTime: after(2)}),
		family("stuck", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending, Running: "0/1", Conditions: []v1beta1.JobCondition{
			{Type: v1beta1.ConditionReplicaFailure, Status: "True", Reason: "ImagePullBackOff", Message: "Pod[p] cannot start: no image"}}}),
		family("waits", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending, Running: "0/1", Conditions: []v1beta1.JobCondition{
			{Type: v1beta1.ConditionReplicaFailure, Status: "True", Reason: "Unschedulable", Message: "Pod[p] cannot start: no node"}}}),
		family("waits-again", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending, Running: "0/1", BackoffCount: 1, Conditions: []v1beta1.JobCondition{
			{Type: v1beta1.ConditionReplicaFailure, Status: "True", Reason: "SchedulingGated", Message: "Pod[p] cannot start: gated"}},
			Failures: []v1beta1.ReplicaFailure{{ExitCode: ptr.To[int32](1), Exception: "ValueError: no", Frame: "/t.py:1, in f"}}}),
	}
	var lines []string
	for _, row := range Table(Of(families, nil), false, start.Add(time.Hour)) {
		lines = append(lines, strings.Join(row, " | "))
	}
	require.Equal(t, []string{
		"NAME | PHASE | RUNNING | RESTARTS | STEP | LOSS | AGE | DURATION | LAST FAILURE",
		"gj/new | Unseen | - | 0 | - | - | 60m | - | -",
		`gj/trains | Running | 2/2 | 1 | 70 | 0.25 | 60m | 59m | exit code 3, last output: "loss is nan"`,
		"gj/done | Succeeded | - | 0 | - | - | 60m | 30m | -",
		"gj/broken | Failed | 59 left | 0 | - | - | 60m | 60s | -",
		"gj/stuck | Pending | 0/1 | 0 | - | - | 60m | - | Pod[p] cannot start: no image",
		"gj/waits | Pending | 0/1 | 0 | - | - | 60m | - | -",
		`gj/waits-again | Pending | 0/1 | 1 | - | - | 60m | - | exit code 1, "ValueError: no" at /t.py:1, in f`,
	}, lines)
	require.Equal(t, []string{"NAMESPACE", "NAME"}, Table(nil, true, start)[0][:2])

	wanted, _ := Phases([]string{"failed", "Running"})
	require.Len(t, Of(families, wanted), 2)
	_, unknown := Phases([]string{"Running", "asleep"})
	require.Equal(t, "asleep", unknown)
	require.Less(t, len([]rune(cut(strings.Repeat("ä", 500)))), 100)
}

func TestAStepSaysHowEarlyItWasTold(t *testing.T) {
	step := new(int64(16))
	for want, row := range map[string]Row{"": {Early: "27s"}, "16": {Step: step}, "16 (27s before the end)": {Step: step, Early: "27s"}} {
		require.Equal(t, want, row.Reached())
	}
}
