package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

const (
	nan    = "Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\nValueError: loss is nan\n"
	parted = "Traceback (most recent call last):\n  File \"/train.py\", line 11, in main\nRuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411\n"
)

// crashed is how a pod ends a minute and so many seconds after the start.
func crashed(second int, code int32, words string) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.ExitedAt(code, kt.At(time.Minute+time.Duration(second)*time.Second))(p)
		saying(words)(p)
	}
}

func nameOf(job *v1beta1.GenericJob, rank int) string { return spec.PodName(job, "worker", rank) }

func world4(options ...kt.JobOption) *v1beta1.GenericJob {
	return kt.Job(append([]kt.JobOption{kt.Type("worker", 4), kt.JobScope, kt.BackoffLimit(3), kt.Begun}, options...)...)
}

// Kubelets tell in any order which pods have failed. What followed from the end of another was told as the cause.
func TestTheFirstFailureIsNeverWhatFollowsFromIt(t *testing.T) {
	for name, tc := range map[string]struct {
		ends    map[int]kt.PodOption
		first   int
		others  int32
		summary string
	}{
		"an exception": {map[int]kt.PodOption{0: crashed(0, 1, parted), 1: crashed(0, 1, parted), 2: crashed(1, 1, nan), 3: crashed(1, 1, parted)}, 2, 3,
			`exited with error code 1: "ValueError: loss is nan" at /train.py:12, in main; 3 others failed, too`},
		"killed":        {map[int]kt.PodOption{0: crashed(0, 1, parted), 1: crashed(0, 137, "step 3")}, 1, 1, `exited with error code 137 (SIGKILL), last output: "step 3"; 1 other failed, too`},
		"an exit code":  {map[int]kt.PodOption{3: crashed(0, 3, ""), 1: crashed(0, 1, parted)}, 3, 1, `exited with error code 3; 1 other failed, too`},
		"alone":         {map[int]kt.PodOption{2: crashed(0, 1, nan)}, 2, 0, `exited with error code 1: "ValueError: loss is nan" at /train.py:12, in main`},
		"nobody knows":  {map[int]kt.PodOption{1: crashed(0, 1, ""), 2: crashed(0, 1, "")}, 1, 1, `exited with error code 1 (or first was Pod[%s]: they ended within the same second); 1 other failed, too`},
		"none is known": {map[int]kt.PodOption{1: crashed(0, 143, "")}, 1, 0, `exited with error code 143 (SIGTERM) (probably because it was told to end: whose failure came first is not known)`},
	} {
		t.Run(name, func(t *testing.T) {
			job := world4()
			pods := kt.Pods(job, "worker", 4, kt.Running)
			for rank, end := range tc.ends {
				pods[rank] = kt.Pod(job, "worker", rank, end)
			}
			d := plan(t, job, kt.At(2*time.Minute), pods...)
			require.EqualValues(t, 1, d.Status.BackoffCount)
			first := d.Status.FirstFailure
			require.Equal(t, nameOf(job, tc.first), first.Pod)
			require.Equal(t, tc.others, first.Others)
			summary := "Pod[" + first.Pod + "] " + tc.summary
			if len(first.OrElse) > 0 {
				summary = "Pod[" + first.Pod + "] " + `exited with error code 1 (or first was Pod[` + nameOf(job, 2) + `]: they ended within the same second); 1 other failed, too`
			}
			require.Equal(t, summary, first.Summary)
			require.Equal(t, summary+"; all replicas are replaced, attempt 1 (restart 1 of 3); this pod was on node node", d.Events[0].Message)
			require.Equal(t, summary+"; it is restarted (restart 1 of 3)", condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
			require.Equal(t, first.Pod, d.Status.Failures[0].Pod)
			require.Equal(t, len(first.OrElse) > 0 || first.Follows != "", first.Probable)
		})
	}
}

// The kubelet of the rank that failed first may report it last, when the restart is decided already.
func TestARootThatBecomesKnownLaterReplacesAConsequence(t *testing.T) {
	job := world4()
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
	d := plan(t, job, kt.At(62*time.Second), pods...)
	require.Zero(t, d.Status.BackoffCount, "the cause may be told any moment")
	require.Empty(t, did(d))
	require.Equal(t, 3*time.Second, d.RequeueAfter)
	d = plan(t, job, kt.At(65*time.Second), pods...)
	require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
	require.True(t, d.Status.FirstFailure.Probable)

	old := job
	job = after(job, d)
	gone := kt.Deleted(kt.At(65*time.Second), 30*time.Second)
	pods = with(pods, kt.Released, gone)
	require.Equal(t, d.Status.FirstFailure, plan(t, job, kt.At(66*time.Second), pods...).Status.FirstFailure, "nothing is new")
	pods[2] = kt.Pod(old, "worker", 2, crashed(6, 1, nan), gone)
	pods[3] = kt.Pod(old, "worker", 3, crashed(6, 143, ""), gone) // it was told to stop
	d = plan(t, job, kt.At(67*time.Second), pods...)
	first := d.Status.FirstFailure
	require.Equal(t, nameOf(job, 2), first.Pod)
	require.Equal(t, []string{"ValueError: loss is nan", "/train.py:12, in main"}, []string{first.Exception, first.Frame})
	require.EqualValues(t, 1, first.Others)
	require.False(t, first.Probable)
	require.Equal(t, []int32{1, 1}, []int32{d.Status.BackoffCount, d.Status.JobAttempt}, "nothing is counted again")
	require.Equal(t, nameOf(job, 2), d.Status.Failures[0].Pod)
	require.Len(t, d.Status.Failures, 1)
	require.Equal(t, first.Summary+"; it is restarted (restart 1 of 3)", condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
	require.Equal(t, []string{first.Summary + ". It was heard of late: what was told before as the first failure was that of Pod[" + nameOf(job, 0) + "]."}, notes(d))

	job = after(job, d) // the next start
	require.Empty(t, plan(t, job, kt.At(2*time.Minute), kt.Pods(job, "worker", 4, kt.Running)...).Events[1:], "it runs")
	pods = kt.Pods(job, "worker", 4, kt.Running)
	pods[1] = kt.Pod(job, "worker", 1, crashed(600, 1, parted))
	d = plan(t, job, kt.At(12*time.Minute), pods...)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod, "a new crash is told by itself")
	require.EqualValues(t, 1, d.Status.FirstFailure.JobAttempt)
}

// A launcher that is told to stop may end by that signal seconds after its process has failed.
func TestALauncherThatIsStoppedMayTellTheCause(t *testing.T) {
	banner := func(code string) string {
		return "rank: 2\nexit code: " + code + "\noutput:\ntorch.distributed.elastic.multiprocessing.errors.ChildFailedError\n"
	}
	for words, tells := range map[string]bool{banner("3"): true, banner("1"): false, banner("143"): false, "rank: 2\nsignal: SIGTERM\noutput:\n": false, "": false, "exit code: 3\nfollows: its peer has ended\noutput:\n": false} {
		job := world4(kt.BackoffLimit(0))
		pods := kt.Pods(job, "worker", 4, kt.Running)
		pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
		job = after(job, plan(t, job, kt.At(65*time.Second), pods...))
		pods = with(pods, kt.Released)
		pods[2] = kt.Pod(job, "worker", 2, crashed(6, 143, words), kt.Released)
		d := plan(t, job, kt.At(67*time.Second), pods...)
		want := nameOf(job, 0)
		if tells {
			want = nameOf(job, 2)
		}
		require.Equal(t, want, d.Status.FirstFailure.Pod, words)
	}
}

func TestARootThatBecomesKnownAfterTheEndIsTold(t *testing.T) {
	job := world4(kt.BackoffLimit(0))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
	d := plan(t, job, kt.At(65*time.Second), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	job = after(job, d)
	pods = with(pods, kt.Released)
	pods[2] = kt.Pod(job, "worker", 2, crashed(0, 1, nan), kt.Released)
	d = plan(t, job, kt.At(66*time.Second), pods...)
	require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, d.Status.FirstFailure.Summary+"; no restarts are left")
	require.Equal(t, job.Status.CompletionTime, d.Status.CompletionTime)
	require.Equal(t, job.Status.Ledger, d.Status.Ledger)
	job = after(job, d)
	require.Equal(t, job.Status, plan(t, job, kt.At(67*time.Second), pods...).Status, "nothing is new")
	pods[3] = kt.Pod(job, "worker", 3, crashed(-1, 1, nan), kt.Released)
	require.Equal(t, nameOf(job, 2), plan(t, job, kt.At(3*time.Minute), pods...).Status.FirstFailure.Pod, "texts are not read for ever")
	require.Equal(t, nameOf(job, 3), plan(t, job, kt.At(68*time.Second), pods...).Status.FirstFailure.Pod)
}

// Where each replica restarts alone, one failure is final, and its peers fail later, one by one. The last of them ended the job in words of its own.
func TestAJobThatItsPeersEndIsToldByTheFirstFailure(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 0)), kt.Begun, func(job *v1beta1.GenericJob) {
		job.Spec.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromString(v1beta1.AnyRank)}}}
	})
	pods := kt.Pods(job, "worker", 2, kt.Running)
	pods[1] = kt.Pod(job, "worker", 1, crashed(0, 1, nan))
	d := plan(t, job, kt.At(61*time.Second), pods...)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod)
	require.Contains(t, condition(after(job, d).Status, v1beta1.ConditionReplicaFailure).Message, "ValueError: loss is nan")

	pods[0] = kt.Pod(job, "worker", 0, crashed(6, 1, parted))
	d = plan(t, after(job, d), kt.At(80*time.Second), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, d.Status.FirstFailure.Summary+"; no restarts are left")
	require.Contains(t, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, d.Status.FirstFailure.Summary+"; no restarts are left")
	for _, e := range d.Events {
		require.NotContains(t, e.Message, "closed by peer")
	}
}

// An end that its wrapper holds is let go with the order to stop, which may come because of the end of another.
func TestAnEndThatIsLetGoIsStillTold(t *testing.T) {
	job, pods := startedOver(t, 3)
	w := holding(job, pods, pods[1], 1)
	report := w.Reports[pods[1].UID]
	report.Held.Message = parted
	d := planWorld(t, w)
	require.Equal(t, pods[1].Name, d.Status.FirstFailure.Pod)
	require.True(t, d.Status.FirstFailure.Probable)
	job = after(job, d)
	w = kernel.World{Job: job, Pods: with(pods, told(2, 2)), Now: w.Now.Add(time.Second), Settings: kt.Settings, Reports: map[types.UID]inplace.Report{}}
	w.Reports[pods[0].UID] = inplace.Report{Pod: string(pods[0].UID), Attempt: 1, Ended: &inplace.End{Attempt: 1, Code: 1, Message: nan, Began: report.Held.Began, Ended: report.Held.Ended}}
	d = planWorld(t, w)
	require.Equal(t, pods[0].Name, d.Status.FirstFailure.Pod)
	require.Equal(t, "ValueError: loss is nan", d.Status.FirstFailure.Exception)
	require.EqualValues(t, 1, d.Status.FirstFailure.Others)
	require.Equal(t, job.Status.BackoffCount, d.Status.BackoffCount)
}

// What a drain has taken with it failed because of that.
func TestADisruptionHasNoFirstFailure(t *testing.T) {
	job := world4()
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0], pods[1] = kt.Pod(job, "worker", 0, crashed(0, 1, parted)), kt.Pod(job, "worker", 1, crashed(0, 137, ""), kt.Disrupted)
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.Nil(t, d.Status.FirstFailure)
}

func notes(d kernel.Decision) (list []string) {
	for _, e := range d.Events {
		list = append(list, e.Message)
	}
	return list
}

// A sentence may be long, and a status cuts it. What was said of the first failure is found in conditions and events nevertheless, and corrected
// there.
func TestALongFailureIsToldWithWhoFollowed(t *testing.T) {
	long := func(of string) string {
		return "Traceback (most recent call last):\n  File \"/" + strings.Repeat("train/", 40) + "main.py\", line 12, in main\n" + of + strings.Repeat("\\ ", 200) + "\n"
	}
	job := world4(kt.BackoffLimit(0), func(j *v1beta1.GenericJob) { j.Name = strings.Repeat("j", 50) })
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, long("ConnectionResetError: Connection reset by peer ")))
	d := plan(t, job, kt.At(66*time.Second), pods...)
	require.True(t, d.Status.FirstFailure.Probable)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, d.Status.FirstFailure.Summary)
	require.Contains(t, d.Events[0].Message, d.Status.FirstFailure.Summary)

	job = after(job, d)
	pods[1] = kt.Pod(job, "worker", 1, crashed(3, 1, long("ValueError: loss is nan ")))
	d = plan(t, job, kt.At(67*time.Second), pods...)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, d.Status.FirstFailure.Summary)
}

// What a container says last may be anything, also what a wrapper writes. The apiserver refuses a status with a longer text.
func TestWhatCodeSaysOfItsEndFitsIntoAStatus(t *testing.T) {
	long := strings.Repeat("x\x1b", 1000)
	for _, words := range []string{
		"exception: " + long + "\nat: " + long + "\nsignal: " + long + "\nfollows: " + long + "\noutput:\n" + long, "rank: " + long + "\nexit code: " + long + "\noutput:\n",
		"Root Cause (first observed failure):\n  rank      : 1 (local_rank: 1)\n  exitcode  : -12345678901234567890 (pid: 29)\n",
	} {
		job := world4()
		pods := kt.Pods(job, "worker", 4, kt.Running)
		pods[0] = kt.Pod(job, "worker", 0, crashed(0, 1, words))
		f := plan(t, job, kt.At(2*time.Minute), pods...).Status.FirstFailure
		for most, text := range map[int]string{300: f.Exception, 200: f.Frame, 16: f.WorkerSignal, 64: f.Follows, 500: f.Why, 1000: f.Summary} {
			require.LessOrEqual(t, len(text), most)
		}
		require.NotContains(t, f.Exception+f.Frame+f.WorkerSignal+f.Follows+f.Why, "\x1b")
	}
}
