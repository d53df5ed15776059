package kernel_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Under policy Always a success begins all replicas again, with restartScope Job. Until they run the job does not train, whatever its minMember.
func TestASuccessAfterWhichAllBeginAgainEndsProductiveTime(t *testing.T) {
	always := kt.Type("worker", 2, kt.Policy(v1beta1.RestartAlways, -1))
	for name, options := range map[string][]kt.JobOption{"all": nil, "minMember": {minMember(1)}} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(append([]kt.JobOption{always, kt.JobScope, kt.BackoffLimit(9), kt.Begun}, options...)...)
			both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(10*second))}
			seen := look(t, job, minute, both...)
			require.Equal(t, v1beta1.TimeProductive, open(seen))
			succeeded := kt.Pod(job, "worker", 0, func(p *corev1.Pod) {
				kt.ExitedAt(0, kt.At(5*minute))(p)
				p.Status.ContainerStatuses[0].State.Terminated.StartedAt = metav1.NewTime(kt.Start)
			})
			for _, before := range []*v1beta1.GenericJob{seen, job} { // ... and if nobody has seen that they ran
				job := look(t, before, 6*minute, succeeded, both[1])
				require.EqualValues(t, 1, job.Status.JobAttempt)
				require.Equal(t, v1beta1.TimeStarting, open(job))
				require.Equal(t, kt.At(5*minute), job.Status.Time.Open.Since.Time)
				job = look(t, job, 7*minute, kt.Pod(before, "worker", 1, startedAt(0), kt.Deleted(kt.At(7*minute), minute)))
				require.Equal(t, v1beta1.TimeStarting, open(job))
				job = look(t, job, 9*minute, kt.Pod(job, "worker", 0, startedAt(8*minute)), kt.Pod(job, "worker", 1, startedAt(8*minute)))
				require.Equal(t, v1beta1.TimeProductive, open(job))
				require.EqualValues(t, 180, job.Status.Time.Starting-seen.Status.Time.Starting)
				require.Zero(t, job.Status.Time.Lost)
			}
		})
	}
}

// As many as are needed train as soon as they run. One that comes later takes no time away, and nor does the look.
func TestTimeIsProductiveFromWhenEnoughRun(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), minMember(2), kt.Begun)
	job = look(t, job, 5*minute, kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(4*minute)), kt.Pod(job, "worker", 2, startedAt(minute)))
	require.Equal(t, v1beta1.TimeProductive, open(job))
	require.Equal(t, kt.At(minute), job.Status.Time.Open.Since.Time)
}

// Nobody knows when the code of a pod ended whose node is lost. Its init container ended before it began.
func TestTheEndOfAnInitContainerBeginsNoLoss(t *testing.T) {
	job := fresh()
	withInit := func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "prepare", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(kt.At(10 * second))}}}}
	}
	job.Spec.ReplicaSpecs[0].Template.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "image"}}
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, startedAt(10*second), withInit)}
	job = look(t, job, minute, both...)
	job = look(t, job, 60*minute, both[0], kt.Pod(job, "worker", 1, startedAt(10*second), withInit, kt.FailedWithout("NodeLost"), kt.Disrupted))
	require.Equal(t, v1beta1.TimeLostToDisruption, open(job))
	require.Equal(t, kt.At(60*minute), job.Status.Time.Open.Since.Time)
}

// evalAndWorkers is a job whose evaluator fails for good after two minutes, while its workers go on. The rules name workers alone.
func evalAndWorkers(policy v1beta1.RestartPolicyType, options ...kt.JobOption) *v1beta1.GenericJob {
	rules := []kt.JobOption{success(v1beta1.FinishRule{"worker": nil}), failure(v1beta1.FinishRule{"worker": ranks(1)})}
	types := []kt.JobOption{kt.Type("worker", 2, kt.Policy(policy, -1)), kt.Type("eval", 1, kt.Policy(v1beta1.RestartNever, -1)), kt.BackoffLimit(9)}
	job := kt.Job(slices.Concat(rules, types, options, []kt.JobOption{kt.Begun})...)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 1, Streak: 3}}}}
	return job
}

// The others go on after a failure that is final, so it interrupts nothing: neither the time nor their life. Nor does it if the operator sees it only
// with the next failure, 27 minutes later. That one is told as the first, and as what the loss came of.
func TestAFailureForGoodBeginsNoLossIfTheOthersGoOn(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"scope Job": {kt.JobScope}, "scope Replica": nil} {
		for how, isSeen := range map[string]bool{"one by one": true, "together": false} {
			for _, policy := range []v1beta1.RestartPolicyType{v1beta1.RestartOnFailure, v1beta1.RestartNever} {
				t.Run(name+", "+how+", "+string(policy), func(t *testing.T) {
					job := evalAndWorkers(policy, options...)
					both := kt.Pods(job, "worker", 2, startedAt(0))
					job = look(t, job, minute, append(both, kt.Pod(job, "eval", 0, startedAt(0)))...)
					failed := kt.Pod(job, "eval", 0, failedAt(0, 2*minute))
					if isSeen {
						job = look(t, job, 3*minute, append(both, failed)...)
					}
					d := plan(t, job, kt.At(30*minute), both[0], kt.Pod(job, "worker", 1, failedAt(0, 29*minute)), failed)
					job = after(job, d)
					requireWhole(t, job)
					require.Equal(t, both[1].Name, job.Status.FirstFailure.Pod)
					require.Zero(t, job.Status.FirstFailure.Others)
					require.EqualValues(t, 29*60, job.Status.Time.Productive)
					entry := lastEntry(job)
					require.Equal(t, v1beta1.HistoryFailure, entry.Kind)
					require.Equal(t, kt.At(29*minute), entry.Begin.Time)
					require.Equal(t, both[1].Name, entry.Pod)
					if policy == v1beta1.RestartNever {
						require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
						require.Contains(t, condition(job.Status, v1beta1.ConditionFailed).Message, both[1].Name)
						require.EqualValues(t, 60, job.Status.Time.Lost.Restart)
						return
					}
					require.Equal(t, v1beta1.TimeLostToRestart, open(job))
					require.EqualValues(t, 1, ledger(job.Status, "worker").Replicas[0].Streak)
					restart := slices.IndexFunc(d.Events, func(e kernel.Event) bool { return e.Reason == v1beta1.ReasonRestarted })
					require.GreaterOrEqual(t, restart, 0, "%v", d.Events)
					require.Contains(t, d.Events[restart].Message, both[1].Name)
				})
			}
		}
	}
}

// The operator was down while two workers failed, 27 minutes apart. With scope Replica each is a failure of its own, and the loss began with the one
// before. With scope Job the first of them restarts all, so the other belongs to it.
func TestTwoFailuresFarApartAreOneIfTheFirstRestartsAll(t *testing.T) {
	for name, tc := range map[string]struct {
		options       []kt.JobOption
		first, others int
	}{"scope Job": {[]kt.JobOption{kt.JobScope}, 0, 1}, "scope Replica": {nil, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(slices.Concat(tc.options, []kt.JobOption{kt.Type("worker", 2), kt.BackoffLimit(9), kt.Begun})...)
			job = look(t, job, minute, kt.Pods(job, "worker", 2, startedAt(0))...)
			job = look(t, job, 30*minute, kt.Pod(job, "worker", 0, failedAt(0, 2*minute)), kt.Pod(job, "worker", 1, failedAt(0, 29*minute)))
			require.Equal(t, nameOf(job, tc.first), job.Status.FirstFailure.Pod)
			require.EqualValues(t, tc.others, job.Status.FirstFailure.Others)
			require.Equal(t, nameOf(job, 0), lastEntry(job).Pod)
			require.Equal(t, kt.At(2*minute), lastEntry(job).Begin.Time)
			require.EqualValues(t, 2-tc.others, job.Status.BackoffCount)
		})
	}
}

// The operator sees final failures together. The one by which a rule fails the job ends productive time, whenever the others came.
func TestTheLossThatEndsAJobBeginsWithTheFailureThatFailedIt(t *testing.T) {
	anyRank := success(v1beta1.FinishRule{"worker": {intstr.FromString(v1beta1.AnyRank)}})
	for name, tc := range map[string]struct {
		rules []kt.JobOption
		ends  time.Duration
	}{
		"without rules any failure fails it": {nil, 2 * minute},
		"a failure rule needs ranks 1 and 2": {[]kt.JobOption{anyRank, failure(v1beta1.FinishRule{"worker": ranks(1, 2)})}, 10 * minute},
		"a success rule needs rank 2":        {[]kt.JobOption{success(v1beta1.FinishRule{"worker": ranks(2)})}, 10 * minute},
		"a success rule needs any":           {[]kt.JobOption{anyRank}, 29 * minute},
		"a rule of failurePolicy":            {[]kt.JobOption{anyRank, failureRules(v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{Messages: "rank 2"}, Action: failsJob})}, 10 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(slices.Concat(tc.rules, []kt.JobOption{kt.Type("worker", 3, kt.Policy(v1beta1.RestartNever, 0)), kt.Begun})...)
			job = look(t, job, minute, kt.Pods(job, "worker", 3, startedAt(0))...)
			job = look(t, job, 30*minute, kt.Pod(job, "worker", 0, failedAt(0, 29*minute)), kt.Pod(job, "worker", 1, failedAt(0, 2*minute)), kt.Pod(job, "worker", 2, failedAt(0, 10*minute), saying("rank 2")))
			require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
			require.Equal(t, kt.At(tc.ends), lastEntry(job).Begin.Time)
			require.Equal(t, tc.ends, time.Duration(job.Status.Time.Productive)*second)
			require.Equal(t, metav1.NewTime(kt.At(tc.ends)), *job.Status.FirstFailure.Time)
			require.Equal(t, job.Status.FirstFailure.Pod, lastEntry(job).Pod)
		})
	}
}

// A pod never gets its image, and is evicted at last. Its init container ended before the others began to train, and says nothing of when that ended.
func TestTheInitContainerOfAPodThatHasNotStartedEndsNoLife(t *testing.T) {
	l := livesOf(t, 3, kt.JobScope, minMember(2))
	l.job.Spec.ReplicaSpecs[0].Template.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: "image"}}
	l.starts(0, 1).starts(1, 1).sees(2)
	for code, want := range map[int32]time.Duration{0: 60 * minute, 1: 59 * minute} { // an init container that fails does say when
		l := &living{t, l.job, map[int]*corev1.Pod{0: l.pods[0], 1: l.pods[1]}}
		l.pods[2] = kt.Pod(l.job, "worker", 2, kt.FailedWithout("Evicted"), kt.Disrupted, func(p *corev1.Pod) {
			prepared := &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(kt.At(10 * second))}
			if code != 0 {
				prepared.FinishedAt = metav1.NewTime(kt.At(want))
			}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "prepare", State: corev1.ContainerState{Terminated: prepared}}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}}}
		})
		l.sees(60)
		require.EqualValues(t, 1, l.streak())
		require.Equal(t, kt.At(want), l.job.Status.Time.Open.Since.Time)
	}
}
