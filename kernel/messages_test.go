package kernel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// saying has the code of a pod that failed leave these last words.
func saying(words string) kt.PodOption {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = words }
}

// mpirun draws a rule below its help and writes a NUL after it: the job had failed of "\x00".
func TestTheLastLineThatSaysSomethingIsQuoted(t *testing.T) {
	for words, want := range map[string]string{
		"terminate the job.\n--------\n\x00":  `, last output: "terminate the job."`,
		"ValueError: loss is nan\n^^^^\n\r\n": `, last output: "ValueError: loss is nan"`,
		"loss 3\n    \n":                      `, last output: "loss 3"`,
		"\x00\n----\n":                        "",
		"损失\n===":                             `, last output: "损失"`,
	} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(9), saying(words)))
		require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "exited with error code 9"+want+"; ", words)
		require.NotContains(t, d.Status.Failures[0].Message, "\x00")
	}
}

// A job that ran on without its worker 1 said that all pods run normally.
func TestRunningTellsWhoFailedForGood(t *testing.T) {
	first := func(s *v1beta1.GenericJobSpec) { s.SuccessRules = []v1beta1.FinishRule{{"worker": ranks(0)}} }
	store := kt.Type("store", 1, func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true })
	job := kt.Job(kt.Type("worker", 3), store, kt.Spec(first), kt.Begun)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Exited(9)), kt.Pod(job, "worker", 2, kt.Running),
		kt.Pod(job, "store", 0, kt.Running)}
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Equal(t, "1 of 3 replicas failed for good: worker-1. The others run or have completed successfully.", condition(d.Status, v1beta1.ConditionRunning).Message)
	require.Equal(t, "2/2", d.Status.Running, "what has failed for good is not wanted any more")

	// At the end it is not forgotten.
	pods[0] = kt.Pod(job, "worker", 0, kt.Exited(0))
	d = plan(t, after(job, d), kt.At(2*time.Minute), pods...)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	failure := condition(d.Status, v1beta1.ConditionReplicaFailure)
	require.Equal(t, metav1.ConditionTrue, failure.Status)
	require.Contains(t, failure.Message, "worker-1] exited with error code 9")
	require.Equal(t, "The job has finished successfully. One pod was left as it was, for cleanUpPolicy is None: with Unfinished it would have been deleted.",
		condition(d.Status, v1beta1.ConditionCompleted).Message)
}

// kubectl wait --for=condition=Completed cannot tell a success from a failure.
func TestSuccessHasAConditionOfItsOwn(t *testing.T) {
	for code, want := range map[int32]metav1.ConditionStatus{0: metav1.ConditionTrue, 1: metav1.ConditionFalse} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		require.Empty(t, condition(plan(t, job, kt.At(time.Second), kt.Pod(job, "worker", 0, kt.Running)).Status, v1beta1.ConditionSucceeded))
		d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(code)))
		require.Equal(t, want, condition(d.Status, v1beta1.ConditionSucceeded).Status)
	}
}

// "The job is failed: every success rule needs a replica that failed for good", to somebody who had written no rule.
func TestWhoWroteNoRuleIsToldOfNone(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(9)), kt.Pod(job, "worker", 1, kt.Running))
	failed := condition(d.Status, v1beta1.ConditionFailed)
	require.Equal(t, v1beta1.ReasonFailed, failed.Reason)
	require.Contains(t, failed.Message, "Pod["+spec.PodName(job, "worker", 0)+"] exited with error code 9; no restarts are left.")
	require.NotContains(t, failed.Message, "rule")
}

// The rules of a training job's GenericJob are the translator's, not its user's.
func TestTheUserOfATrainingJobIsToldOfNoRule(t *testing.T) {
	for name, rules := range map[string]kt.JobOption{
		"a failure rule":  failure(v1beta1.FinishRule{"worker": ranks(0)}),
		"no success rule": success(v1beta1.FinishRule{"worker": ranks(0)}),
	} {
		job := kt.Job(kt.Type("worker", 2), rules, kt.Begun)
		fails := func() v1beta1.JobCondition {
			d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(9)), kt.Pod(job, "worker", 1, kt.Running))
			return condition(d.Status, v1beta1.ConditionFailed)
		}
		job.OwnerReferences = []metav1.OwnerReference{{Kind: "Workflow", Name: "steps", Controller: new(true)}}
		require.Contains(t, fails().Message, "rule", "a workflow has not written them")
		job.Annotations = map[string]string{v1beta1.AnnotationCompiledGeneration: "1"}
		failed := fails()
		require.Equal(t, v1beta1.ReasonFailed, failed.Reason, name)
		require.NotContains(t, failed.Message, "rule", name)
		require.Contains(t, failed.Message, "exited with error code 9; no restarts are left.", name)
	}
}

// Of a crash of rank 2 and, a second later, of rank 0, which had lost it, the message named rank 0.
func TestTheFirstFailureIsTheCause(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.JobScope, kt.BackoffLimit(1), kt.Begun)
	crash := []*corev1.Pod{
		kt.Pod(job, "worker", 0, kt.ExitedAt(1, kt.At(61*time.Second)), saying("lost a peer")), kt.Pod(job, "worker", 1, kt.Running),
		kt.Pod(job, "worker", 2, kt.ExitedAt(7, kt.At(60*time.Second)), saying("Traceback\n  File x\nValueError: no such data\n")),
	}
	d := plan(t, job, kt.At(62*time.Second), crash...)
	require.Contains(t, d.Events[0].Message, "worker-2] exited with error code 7, last output: \"ValueError: no such data\"; 1 other failed, too; all replicas are replaced")
	require.EqualValues(t, 1, d.Status.BackoffCount)
	kept := d.Status.Failures
	require.Len(t, kept, 1)
	require.Equal(t, spec.PodName(job, "worker", 2), kept[0].Pod)
	require.EqualValues(t, 7, *kept[0].ExitCode)
	require.Equal(t, kt.At(time.Minute), kept[0].Time.UTC())
	require.Equal(t, "Traceback\n  File x\nValueError: no such data", kept[0].Message)
}

// A limit that all share goes to who failed first, in whatever order the replicas stand.
func TestTheLastRestartGoesToWhoFailedFirst(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 9)), kt.BackoffLimit(1), success(v1beta1.FinishRule{"worker": ranks(1)}), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.ExitedAt(1, kt.At(9*time.Second))), kt.Pod(job, "worker", 1, kt.ExitedAt(1, kt.At(8*time.Second))))
	require.Equal(t, "0", d.Status.Ledger[0].Failed)
	require.EqualValues(t, 1, d.Status.Ledger[0].Replicas[0].Rank)
}

func TestTheLastFailuresAreKept(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 9)), kt.Begun)
	for i := range 8 {
		pod := kt.Pod(job, "worker", 0, kt.ExitedAt(int32(i+1), kt.At(time.Duration(i)*time.Hour)))
		job = after(job, plan(t, job, kt.At(time.Duration(i)*time.Hour), pod))
	}
	var codes []int32
	for _, f := range job.Status.Failures {
		codes = append(codes, *f.ExitCode)
	}
	require.Equal(t, []int32{4, 5, 6, 7, 8}, codes)

	job = kt.Job(kt.Type("worker", 9, kt.Policy(v1beta1.RestartOnFailure, 9)), kt.Begun)
	var crash []*corev1.Pod
	for rank := range 9 { // the last rank first
		crash = append(crash, kt.Pod(job, "worker", rank, kt.ExitedAt(int32(rank+1), kt.At(time.Duration(9-rank)*time.Second))))
	}
	kept := plan(t, job, kt.At(time.Minute), crash...).Status.Failures
	require.Len(t, kept, 5)
	require.EqualValues(t, 9, *kept[0].ExitCode, "what came first is the cause of the rest")
}

// A bad edit was told only when the job was resumed.
func TestABadEditIsToldInThePause(t *testing.T) {
	job, _ := running(t, 1, kt.Type("worker", 1))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.At(10*time.Second)))
	require.Equal(t, v1beta1.JobPaused, job.Status.Phase)
	wrong := kt.Edited(job, func(job *v1beta1.GenericJob) {
		job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{"$(replicas[nobody])"}
	})
	d := plan(t, wrong, kt.At(20*time.Second))
	require.Equal(t, v1beta1.JobPaused, d.Status.Phase)
	require.Equal(t, metav1.ConditionTrue, condition(d.Status, v1beta1.ConditionPaused).Status)
	blocked := condition(d.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonInvalidSpec, blocked.Reason)
	require.Contains(t, blocked.Message, "$(replicas[nobody]) names type")
	require.Equal(t, blocked.Message, condition(d.Status, v1beta1.ConditionRunning).Message, "kubectl get -o wide shows it")
	wrong = after(wrong, d)
	require.Equal(t, wrong.Status, plan(t, wrong, kt.At(time.Minute)).Status, "told once")
	mended := kt.Edited(wrong, func(job *v1beta1.GenericJob) { job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Args = nil })
	require.Empty(t, condition(plan(t, mended, kt.At(2*time.Minute)).Status, v1beta1.ConditionBlocked))
}

func TestANumberOfReplicasThatChangesIsTold(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1))
	d := plan(t, kt.Edited(job, kt.Replicas("worker", 3)), kt.At(10*time.Second), pods...)
	require.Equal(t, "Scaled", d.Events[0].Reason)
	require.Equal(t, "The job has 3 replicas now, and had 1.", d.Events[0].Message)
}

// The status of a job that is blocked or paused has the new number at once. So the event comes with it: later it never came.
func TestANumberOfReplicasThatChangesIsToldOnceThoughNoPodIsMade(t *testing.T) {
	told := func(events []kernel.Event) (n int) {
		for _, e := range events {
			if e.Reason == v1beta1.ReasonScaled {
				n++
			}
		}
		return n
	}
	for name, stop := range map[string]kt.JobOption{
		"blocked": func(job *v1beta1.GenericJob) {
			job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{"$(replicas[nobody])"}
		},
		"paused": kt.PauseNow(true),
	} {
		before, pods := running(t, 1, kt.Type("worker", 1))
		job := kt.Edited(before, stop)
		job = after(job, plan(t, job, kt.At(10*time.Second), pods...))
		job = kt.Edited(job, kt.Replicas("worker", 3))
		d := plan(t, job, kt.At(20*time.Second), pods...)
		require.NotContains(t, did(d), "CreatePod worker-1", name)
		require.Equal(t, 1, told(d.Events), "%s: %v", name, d.Events)
		job = after(job, d)
		require.Zero(t, told(plan(t, job, kt.At(time.Minute), pods...).Events), name)
		job = kt.Edited(job, func(job *v1beta1.GenericJob) {
			job.Spec.ReplicaSpecs[0].Template, job.Spec.RunMode = before.Spec.ReplicaSpecs[0].Template, nil
		})
		require.Zero(t, told(plan(t, job, kt.At(2*time.Minute), pods...).Events), "%s: it goes on", name)
	}
}

// Pods of another run mode are stopped: who waits until the job runs is not told that they do.
func TestPodsOfAnotherRunModeDoNotCountAsRunning(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2))
	for _, debugs := range []bool{true, false} {
		job = kt.Edited(job, kt.DebugNow(debugs))
		d := plan(t, job, kt.At(time.Minute), pods...)
		require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
		running := condition(d.Status, v1beta1.ConditionRunning)
		require.Equal(t, metav1.ConditionFalse, running.Status)
		require.Equal(t, "Waiting for replica worker-0: its pod is made again", running.Message)
		job = after(job, d)
		d = plan(t, job, kt.At(time.Minute), with(pods, kt.Deleted(kt.At(time.Minute), 30*time.Second))...)
		require.Equal(t, metav1.ConditionFalse, condition(d.Status, v1beta1.ConditionRunning).Status)

		job = after(job, plan(t, job, kt.At(2*time.Minute)))
		pods = kt.Pods(job, "worker", 2, kt.Running)
		d = plan(t, job, kt.At(3*time.Minute), pods...)
		require.Equal(t, metav1.ConditionTrue, condition(d.Status, v1beta1.ConditionRunning).Status)
		job = after(job, d)
	}
}

// All pods run, and nothing trains: a job in debug mode says so, and since when, whoever failed before.
func TestRunningTellsSinceWhenAJobIsInDebugMode(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules = []v1beta1.FinishRule{{"worker": ranks(0)}}
	}), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Exited(9)), kt.Pod(job, "worker", 2, kt.Running))
	job = kt.Edited(after(job, d), kt.DebugNow(true))
	job = after(job, plan(t, job, kt.At(time.Minute)))
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 2, kt.Running)}
	for _, at := range []time.Duration{2 * time.Minute, time.Hour} {
		d = plan(t, job, kt.At(at), pods...)
		told := condition(d.Status, v1beta1.ConditionRunning).Message
		require.Contains(t, told, "All pods run in debug mode, in which they do not train")
		require.True(t, strings.HasSuffix(told, "They run so since 2026-01-01T00:02:00Z."), told)
		job = after(job, d)
	}
}
