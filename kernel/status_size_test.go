package kernel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// etcdLimit is the size in bytes of the largest request that etcd takes.
const etcdLimit = 1_572_864

func sizeOf(t *testing.T, v any) int {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return len(raw)
}

// manyFailed is a job of so many types of 10,000 replicas, each of which has failed and been replaced in its own way.
func manyFailed(types int, now time.Time) *v1beta1.GenericJob {
	var options []kt.JobOption
	for i := range types {
		options = append(options, kt.Type(fmt.Sprintf("worker%d", i), 10000, kt.Policy(v1beta1.RestartOnFailure, 2000000000)))
	}
	job := kt.Job(append(options, kt.Begun)...)
	for i := range types {
		l := v1beta1.TaskLedger{Type: fmt.Sprintf("worker%d", i)}
		for rank := range int32(10000) {
			later := metav1.NewTime(now.Add(time.Duration(1+rank%7) * time.Minute))
			l.Replicas = append(l.Replicas, v1beta1.RankRecord{Rank: rank, Attempt: 1 + rank%9, Restarts: 1 + rank%9, Streak: 2, NotBefore: &later})
		}
		job.Status.Ledger = append(job.Status.Ledger, l)
	}
	return job
}

func TestAStatusOfTenThousandReplicasThatFailedIrregularlyFitsIntoEtcd(t *testing.T) {
	t.Parallel()
	job := manyFailed(1, kt.Start)
	var pods []*corev1.Pod
	fresh := kt.Job(kt.Type("worker0", 10000), kt.Begun)
	for rank := range 10000 {
		pod := kt.Pod(fresh, "worker0", rank, kt.Exited(1))
		pod.Labels[v1beta1.LabelAttempt] = fmt.Sprint(1 + rank%9)
		pods = append(pods, pod)
	}
	d := kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.Start, Settings: kt.Settings})
	require.NotEqual(t, v1beta1.JobFailed, d.Status.Phase)
	require.Len(t, ledger(d.Status, "worker0").Replicas, 10000, "no two neighbours are equal")
	t.Logf("status of 10,000 replicas that failed again, all in their own way: %d bytes; without rows %d", sizeOf(t, d.Status), sizeOf(t, status.WithoutRows(&d.Status)))
	require.Less(t, sizeOf(t, d.Status), etcdLimit)
	require.Less(t, sizeOf(t, status.WithoutRows(&d.Status)), etcdLimit*2/3)
	require.Equal(t, d.Status.Tasks[0].RestartCount, status.WithoutRows(&d.Status).Tasks[0].RestartCount)
}

func TestRowsOfThousandsOfContainersAreBounded(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 1500, kt.Policy(v1beta1.RestartNever, 0)), kt.Begun)
	pods := kt.Pods(job, "worker", 1500, kt.Exited(1), func(p *corev1.Pod) {
		for i := range 63 {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprintf("sidecar-with-quite-a-long-name-such-as-users-like-to-give-%d", i)})
		}
	})
	d := kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.Start, Settings: kt.Settings})
	rows := d.Status.Tasks[0].Replicas
	require.Len(t, rows, 1000)
	require.Len(t, rows[0].Containers, 64)
	require.Empty(t, rows[999].Containers)
	t.Logf("status of 1,500 replicas of 64 containers that all failed: %d bytes", sizeOf(t, d.Status))
	require.Less(t, sizeOf(t, d.Status), etcdLimit/3)
	require.Equal(t, "0-1499", d.Status.Ledger[0].Failed)
}

func TestAJobWhoseLedgerCannotBeStoredFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	job := manyFailed(2, kt.Start)
	running := kt.Pod(job, "worker0", 5, kt.Running)
	d := kernel.Plan(kernel.World{Job: job, Pods: []*corev1.Pod{running}, Now: kt.Start, Settings: kt.Settings})
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	failed := condition(d.Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonLedgerFull, failed.Reason)
	require.Contains(t, failed.Message, "20000 replicas were replaced")
	require.Contains(t, failed.Message, "spec.restartScope to Job")
	require.Less(t, sizeOf(t, d.Status), 100_000)
	require.EqualValues(t, 49996, d.Status.Tasks[0].RestartCount, "what was counted stays counted")

	after := job.DeepCopy()
	after.Status = d.Status
	e := kernel.Plan(kernel.World{Job: after, Pods: []*corev1.Pod{running}, Now: kt.At(time.Minute), Settings: kt.Settings, JobIsLive: true})
	require.Equal(t, d.Status, e.Status, "final is final, though the ledger knows the pod's attempt no more")
	require.Equal(t, []string{"ReleasePod worker0-5"}, did(e))
}

// A ledger of few bytes may name more ranks than the next reconcile would read.
func TestAJobWhoseLedgerCouldNotBeReadBackFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	for i := range 13 { // types that the job had before
		job.Status.Ledger = append(job.Status.Ledger, v1beta1.TaskLedger{Type: fmt.Sprint("t", i), Replicas: []v1beta1.RankRecord{{LastRank: 9999, Attempt: 1}}})
	}
	d := kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings})
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	failed := condition(d.Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonLedgerFull, failed.Reason)
	require.Equal(t, "130000 replicas were replaced, of all types and sizes that the job has had: to account for that status.ledger names 130000 ranks, and 120000 are allowed. "+
		"Run fewer replicas in one job; or set spec.restartScope to Job, which keeps one account for all.", failed.Message)
	require.Empty(t, d.Status.Ledger)
}

func TestNeighboursThatWereReplacedInTheSameWayShareARecord(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 3000, kt.Policy(v1beta1.RestartOnFailure, 5)), kt.Begun)
	d := kernel.Plan(kernel.World{Job: job, Pods: kt.Pods(job, "worker", 3000, kt.FailedWithout("NodeShutdown")), Now: kt.Start, Settings: kt.Settings})
	require.Equal(t, []v1beta1.RankRecord{{Rank: 0, LastRank: 2999, Attempt: 1, Streak: 1}}, ledger(d.Status, "worker").Replicas)

	job = job.DeepCopy()
	job.Status = d.Status
	pods := kt.Pods(job, "worker", 3000)
	for _, pod := range pods {
		pod.Labels[v1beta1.LabelAttempt] = "1"
		kt.Running(pod)
	}
	kt.Exited(1)(pods[7])
	d = kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.At(time.Second), Settings: kt.Settings})
	require.Equal(t, []v1beta1.RankRecord{
		{Rank: 0, LastRank: 6, Attempt: 1, Streak: 1},
		{Rank: 7, Attempt: 2, Restarts: 1, Streak: 2, NotBefore: ptr.To(metav1.NewTime(kt.At(2 * time.Second)))},
		{Rank: 8, LastRank: 2999, Attempt: 1, Streak: 1},
	}, ledger(d.Status, "worker").Replicas)
	require.EqualValues(t, 1, d.Status.Tasks[0].RestartCount)

	job = job.DeepCopy()
	job.Status = d.Status
	e := kernel.Plan(kernel.World{Job: job, Pods: append(pods[:7:7], pods[8:]...), Now: kt.At(5 * time.Second), Settings: kt.Settings})
	require.Nil(t, ledger(e.Status, "worker").Replicas[1].NotBefore, "the delay is over")
	require.Equal(t, []string{"CreatePod worker-7@2"}, did(e))
}

func TestRecordsOfRanksThatNoJobHasAreAnError(t *testing.T) {
	t.Parallel()
	for _, r := range []v1beta1.RankRecord{
		{Rank: -1}, {Rank: math.MinInt32}, {Rank: 10000}, {Rank: math.MaxInt32}, {Rank: 1, LastRank: math.MaxInt32}, {Rank: 1, LastRank: -1}, {Rank: math.MinInt32, LastRank: 5},
	} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{r}}}
		d := plan(t, job, kt.Start)
		require.Contains(t, condition(d.Status, v1beta1.ConditionBlocked).Message, "status.ledger[worker].replicas: rank", "%+v", r)
		require.Empty(t, d.Actions)
	}
}

func TestVariablesThatAreNeverClosedAreReadOnce(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("$(", 5_000_000) // with the square of that this would take hours
	job := kt.Job(kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = []string{text} })))
	d := plan(t, job, kt.Start)
	require.Equal(t, v1beta1.JobPending, d.Postponed.Status.Phase)
	require.Equal(t, text, kernel.NewPodBuilder(job, kt.Settings).Pod(d.Actions[0]).Spec.Containers[0].Args[0])
}

func TestADeadlineThatNobodyWillLiveToSee(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 1), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = ptr.To[int64](math.MaxInt64) }), kt.Begun)
	d := plan(t, job, kt.At(time.Hour), kt.Pod(job, "worker", 0, kt.Running))
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
}

func TestAPodOfARankThatNoJobHasTouchesNoAccount(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	forged := kt.Pod(job, "worker", 0, kt.Running)
	forged.Name = strings.TrimSuffix(forged.Name, "0") + "4294967296"
	forged.Labels[v1beta1.LabelReplicaRank] = "4294967296" // 0 as an int32
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running), forged)
	require.Empty(t, d.Status.Ledger)
	require.Empty(t, d.Actions)
}

func TestAMessageIsNotCutInsideACharacter(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	pod := kt.Pod(job, "worker", 0)
	for n := range 4 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
			Reason: "ImagePullBackOff", Message: strings.Repeat("x", n) + strings.Repeat("界", 2000),
		}}}}
		d := plan(t, job, kt.At(time.Minute), podstate.Trim(pod))
		require.True(t, utf8.ValidString(condition(d.Status, v1beta1.ConditionReplicaFailure).Message))
	}
	require.Equal(t, "x...", text.Cut("x界界", 6))
	require.Equal(t, "x界", text.Cut("x界", 4))
	require.Equal(t, "\uFFFD", text.Cut("\xff", 4))
}

func TestReplicasBeyondTheLimitAreAnswered(t *testing.T) {
	t.Parallel()
	for _, n := range []int32{math.MinInt32, -1, 0, 10001, math.MaxInt32} {
		d := plan(t, kt.Job(kt.Type("worker", n)), kt.Start)
		require.Equal(t, v1beta1.ReasonInvalidSpec, condition(d.Status, v1beta1.ConditionFailed).Reason)
		require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "want a number from 1 to 10000")
	}
}
