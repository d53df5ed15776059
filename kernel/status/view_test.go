package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Worker 0 is looked at, of two; worker 1 has no pod.
func TestReplicaPhases(t *testing.T) {
	unscheduled := podOf(0, corev1.PodPending)
	unscheduled.Spec.NodeName = ""
	old := func(d ledger.Draft) { d.StartOver(d.Account("worker"), 0, ledger.Restart, 0, false, start) }
	done := func(d ledger.Draft) { d.Succeed(d.Account("worker"), 0) }
	failed := func(d ledger.Draft) { d.Fail(d.Account("worker"), 0) }
	tests := map[string]struct {
		pod    *corev1.Pod
		do     func(ledger.Draft)
		course verdict.Course
		want   v1beta1.ReplicaPhase
	}{
		"no pod yet":                         {nil, nil, verdict.Run, v1beta1.ReplicaCreating},
		"none to come in a pause":            {nil, nil, verdict.Pause, v1beta1.ReplicaDeleted},
		"none to come after the end":         {nil, nil, verdict.AlreadyFinished, v1beta1.ReplicaDeleted},
		"no node":                            {unscheduled, nil, verdict.Run, v1beta1.ReplicaCreating},
		"a node":                             {podOf(0, corev1.PodPending), nil, verdict.Run, v1beta1.ReplicaPending},
		"it runs":                            {podOf(0, corev1.PodRunning), nil, verdict.Run, v1beta1.ReplicaRunning},
		"its node does not answer":           {podOf(0, corev1.PodUnknown), nil, verdict.Run, v1beta1.ReplicaUnknown},
		"its pod is to be replaced":          {podOf(0, corev1.PodFailed), old, verdict.Run, v1beta1.ReplicaCreating},
		"but not any more":                   {podOf(0, corev1.PodFailed), old, verdict.Fail, v1beta1.ReplicaFailed},
		"a success outlives its pod":         {nil, done, verdict.AlreadyFinished, v1beta1.ReplicaSucceeded},
		"so does a failure":                  {nil, failed, verdict.Run, v1beta1.ReplicaFailed},
		"a success is one before it ends":    {podOf(0, corev1.PodRunning), done, verdict.Run, v1beta1.ReplicaSucceeded},
		"a failure that is not recorded yet": {podOf(0, corev1.PodFailed), nil, verdict.Block, v1beta1.ReplicaFailed},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			if tc.pod != nil {
				pods = append(pods, tc.pod)
			}
			p := findingsOf(t, begun(t), tc.do, pods...)
			p.Verdict.Course = tc.course
			s, _, _ := Of(p)
			require.Equal(t, tc.want, s.Tasks[0].Replicas[0].Phase)
			a := s.Aggregate
			require.EqualValues(t, 2, a.Creating+a.Pending+a.Running+a.Succeeded+a.Failed+a.Unknown+a.Deleted, "each replica is counted once")
		})
	}
}

func TestARowRemembersAPodThatHasGone(t *testing.T) {
	pod := podOf(0, corev1.PodFailed)
	pod.UID = "pod-uid"
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7}}},
		{Name: "side", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}, {Name: "late"},
	}
	failed := func(d ledger.Draft) { d.Fail(d.Account("worker"), 0) }
	job := begun(t)
	job.Status, _, _ = Of(findingsOf(t, job, failed, pod))
	want := v1beta1.ReplicaStatus{Name: pod.Name, UID: "pod-uid", Phase: v1beta1.ReplicaFailed, Containers: []v1beta1.ContainerStatus{
		{Name: "main", State: "Terminated", ExitCode: ptr.To[int32](7)}, {Name: "side", State: "Running"}, {Name: "late", State: "Waiting"}}}
	require.Equal(t, want, job.Status.Tasks[0].Replicas[0])
	s, _, _ := Of(findingsOf(t, job, nil))
	require.Equal(t, want, s.Tasks[0].Replicas[0])
}

func TestALargeJobHasRowsOfThoseAloneThatNeedAttention(t *testing.T) {
	tests := map[string]struct {
		workers int32
		failed  int
		want    int
	}{
		"up to a thousand replicas each has one":    {maxRows, 2, maxRows},
		"above, those that failed":                  {maxRows + 1, 2, 2},
		"and not more than a thousand of those":     {3 * maxRows, 2 * maxRows, maxRows},
		"a large job in which all is well has none": {maxRows + 1, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, _, _ := Of(findingsOf(t, fresh(tc.workers), func(d ledger.Draft) {
				for rank := range tc.failed {
					d.Fail(d.Account("worker"), rank)
				}
			}))
			require.Len(t, s.Tasks[0].Replicas, tc.want)
			require.EqualValues(t, tc.failed, s.Aggregate.Failed, "all are counted")
			require.EqualValues(t, int(tc.workers)-tc.failed, s.Aggregate.Creating, "all are counted")
		})
	}
}

func TestReplicaFailureStaysUntilAllIsWell(t *testing.T) {
	told := func(job *v1beta1.GenericJob) {
		Set(&job.Status, start, v1beta1.ConditionReplicaFailure, true, v1beta1.ReasonErrorInPod, "Pod[x] failed.")
	}
	tests := map[string]struct {
		do   func(ledger.Draft)
		pods []*corev1.Pod
		want metav1.ConditionStatus
	}{
		"while its replica has no pod":    {nil, running()[:1], metav1.ConditionTrue},
		"until all run":                   {nil, running(), metav1.ConditionFalse},
		"and one that is final stays too": {func(d ledger.Draft) { d.Fail(d.Account("worker"), 1) }, running()[:1], metav1.ConditionTrue},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := begun(t, told)
			p := findingsOf(t, job, tc.do, tc.pods...)
			require.Equal(t, "Pod[x] failed.", (&writer{Findings: p}).lastFailure())
			p.Now = after(time.Minute)
			job.Status, _, _ = Of(p)
			c := Condition(job.Status.Conditions, v1beta1.ConditionReplicaFailure)
			require.Equal(t, tc.want, c.Status)
			if tc.want == metav1.ConditionFalse {
				require.Empty(t, (&writer{Findings: p}).lastFailure())
			}
		})
	}
}

func TestScalingBelowARankThatRulesNameIsRefusedInWords(t *testing.T) {
	job := begun(t, func(job *v1beta1.GenericJob) {
		job.Spec.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(4)}}}
	})
	s, events, _ := Of(findingsOf(t, job, nil))
	want := "spec.replicaSpecs[worker].replicas is 2, but the job's rules name rank 4: it keeps 5. Set replicas to 5 or more."
	require.Equal(t, want, Condition(s.Conditions, v1beta1.ConditionBlocked).Message)
	require.Contains(t, events, Event{Warning: true, Reason: v1beta1.ReasonScaleRefused, Message: want})
}
