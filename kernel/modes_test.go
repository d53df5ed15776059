package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// running is a job whose replicas of type worker all run, with their pods.
func running(t *testing.T, n int32, options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job := kt.Job(append(options, kt.Begun)...)
	pods := kt.Pods(job, "worker", int(n), kt.Running)
	job = after(job, plan(t, job, kt.Start, pods...))
	require.Equal(t, v1beta1.JobRunning, job.Status.Phase)
	return job, pods
}

func with(pods []*corev1.Pod, options ...kt.PodOption) []*corev1.Pod {
	pods = deepCopies(pods)
	for _, pod := range pods {
		for _, option := range options {
			option(pod)
		}
	}
	return pods
}

func TestPauseAndResume(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2))
	job = kt.Edited(job, kt.PauseNow(true))
	d := plan(t, job, kt.At(10*time.Second), pods...)
	require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase, "Paused only when all are gone")
	require.Empty(t, condition(d.Status, v1beta1.ConditionPaused), "who waits for it may edit the spec then")
	require.Equal(t, "Pausing", condition(d.Status, v1beta1.ConditionRunning).Reason)
	job = after(job, d)
	require.EqualValues(t, 1, job.Status.PauseCount)

	stopping := with(pods, kt.Stopped, kt.Deleted(kt.At(10*time.Second), 30*time.Second))
	d = plan(t, job, kt.At(20*time.Second), stopping...)
	require.Empty(t, did(d), "how they end is still of interest: they may have finished before they were asked to stop")
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)

	d = plan(t, job, kt.At(20*time.Second), with(stopping[:1], kt.Exited(143))...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Zero(t, d.Status.BackoffCount)
	require.Zero(t, d.Status.DisruptionCount)

	d = plan(t, job, kt.At(30*time.Second))
	require.Equal(t, v1beta1.JobPaused, d.Status.Phase)
	require.Equal(t, metav1.ConditionTrue, condition(d.Status, v1beta1.ConditionPaused).Status)
	require.Equal(t, []kernel.Event{{Reason: "Paused", Message: condition(d.Status, v1beta1.ConditionPaused).Message}}, d.Events)
	job = after(job, d)
	require.Equal(t, v1beta1.Aggregate{Deleted: 2}, job.Status.Aggregate)

	job = kt.Edited(job, kt.PauseNow(false))
	d = plan(t, job, kt.At(40*time.Second))
	require.Equal(t, v1beta1.JobResuming, d.Status.Phase)
	require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d))
	require.Equal(t, "Resumed", condition(d.Status, v1beta1.ConditionPaused).Reason)
	require.Contains(t, d.Events, kernel.Event{Reason: "Resumed", Message: "The job goes on after a pause."})
	require.EqualValues(t, 30, d.Status.PausedSeconds)
	job = after(job, d)
	d = plan(t, job, kt.At(50*time.Second), kt.Pods(job, "worker", 1, kt.Running)...)
	require.Equal(t, v1beta1.JobResuming, d.Status.Phase)
	d = plan(t, job, kt.At(60*time.Second), kt.Pods(job, "worker", 2, kt.Running)...)
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
}

func TestWhatEndsWhileTheJobIsBeingStopped(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2))
	job = kt.Edited(job, kt.PauseNow(true))
	paused := after(job, plan(t, job, kt.Start, pods...))
	tests := map[string]struct {
		job    *v1beta1.GenericJob
		pod    []kt.PodOption
		ledger v1beta1.TaskLedger
		phase  v1beta1.JobPhase
	}{
		"failed before the pause was seen": {job, []kt.PodOption{kt.Exited(1)}, v1beta1.TaskLedger{Type: "worker", Failed: "0"}, v1beta1.JobFailed},
		"failed after":                     {paused, []kt.PodOption{kt.Exited(1)}, v1beta1.TaskLedger{}, v1beta1.JobRunning},
		"evicted after":                    {paused, []kt.PodOption{kt.Exited(1), kt.Disrupted}, v1beta1.TaskLedger{}, v1beta1.JobRunning},
		"succeeded after":                  {paused, []kt.PodOption{kt.Exited(0)}, v1beta1.TaskLedger{Type: "worker", Succeeded: "0"}, v1beta1.JobRunning},
		"succeeded because it was stopped": {paused, []kt.PodOption{kt.ExitedAt(0, kt.At(time.Second)), kt.Stopped, kt.Deleted(kt.At(time.Second), 0)}, v1beta1.TaskLedger{}, v1beta1.JobRunning},
		"succeeded just before it was":     {paused, []kt.PodOption{kt.ExitedAt(0, kt.Start), kt.Stopped, kt.Deleted(kt.At(time.Second), 30*time.Second)}, v1beta1.TaskLedger{Type: "worker", Succeeded: "0"}, v1beta1.JobRunning},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.At(time.Minute), append(with(pods[:1], tc.pod...), pods[1])...)
			require.Equal(t, tc.ledger, ledger(d.Status, "worker"))
			require.Equal(t, tc.phase, d.Status.Phase)
			require.Zero(t, d.Status.BackoffCount)
			require.Zero(t, d.Status.DisruptionCount)
		})
	}
}

func TestFinishedRanksStayFinishedOverAPause(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"restartScope Replica": nil, "restartScope Job": {kt.JobScope}} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 2, append(options, kt.Type("worker", 2))...)
			job = after(job, plan(t, job, kt.Start, with(pods[:1], kt.Exited(0))[0], pods[1]))
			job = kt.Edited(job, kt.PauseNow(true))
			job = after(job, plan(t, job, kt.Start, with(pods[:1], kt.Exited(0), kt.Released)[0], pods[1]))
			job = after(job, plan(t, job, kt.Start))
			require.Equal(t, v1beta1.JobPaused, job.Status.Phase)
			d := plan(t, kt.Edited(job, kt.PauseNow(false)), kt.Start)
			require.Equal(t, []string{"CreatePod worker-1@0"}, did(d))
		})
	}
}

func TestPausedFromTheStart(t *testing.T) {
	resume := v1beta1.ResumeSpec{Type: "worker", Command: []string{"resume"}}
	job := kt.Job(kt.Type("worker", 1), kt.PauseNow(true, resume))
	d := plan(t, job, kt.Start)
	require.Equal(t, v1beta1.JobPaused, d.Status.Phase)
	require.Nil(t, d.Status.StartTime)
	require.Empty(t, d.Actions)
	job = kt.Edited(after(job, d), kt.PauseNow(false, resume))
	d = plan(t, job, kt.At(time.Hour))
	require.Equal(t, []string{"CreatePod worker-0@0"}, did(d))
	require.Equal(t, v1beta1.JobPending, d.Status.Phase)
	require.Equal(t, kt.At(time.Hour), d.Status.StartTime.Time, "the deadline's clock starts with the pods")
	require.Zero(t, d.Status.PausedSeconds)
	pod := kernel.NewPodBuilder(after(job, d), kt.Settings).Pod(d.Actions[0])
	require.Empty(t, pod.Spec.Containers[0].Command, "it has not run before, so it does not resume")
}

func TestResumeSpecs(t *testing.T) {
	withInit := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init"}}
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = []string{"train"}, []string{"$(rank)"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "helper", Command: []string{"help"}})
	})
	tests := map[string]struct {
		resume        v1beta1.ResumeSpec
		command, args []string
		init          int
	}{
		"command":           {v1beta1.ResumeSpec{Type: "worker", Command: []string{"resume", "$(type)"}}, []string{"resume", "worker"}, []string{"1"}, 1},
		"args":              {v1beta1.ResumeSpec{Type: "worker", Args: []string{"--from=$(rank)"}}, []string{"train"}, []string{"--from=1"}, 1},
		"skipInitContainer": {v1beta1.ResumeSpec{Type: "worker", SkipInitContainer: true}, []string{"train"}, []string{"1"}, 0},
		"another type":      {v1beta1.ResumeSpec{Type: "ps", Command: []string{"x"}, SkipInitContainer: true}, []string{"train"}, []string{"1"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 2, kt.Type("worker", 2, withInit))
			job = kt.Edited(job, kt.PauseNow(true, tc.resume))
			job = after(job, plan(t, job, kt.Start, pods...))
			job = kt.Edited(job, kt.PauseNow(false, tc.resume))
			job = after(job, plan(t, job, kt.Start))
			pod := kt.Pod(job, "worker", 1)
			require.Equal(t, tc.command, pod.Spec.Containers[0].Command)
			require.Equal(t, tc.args, pod.Spec.Containers[0].Args)
			require.Len(t, pod.Spec.InitContainers, tc.init)
			require.Equal(t, []string{"help"}, pod.Spec.Containers[1].Command)
		})
	}
}

// The annotation is Kubernetes' own for the container that `kubectl logs` shows.
func TestResumeSpecsActOnTheMainContainer(t *testing.T) {
	resume := v1beta1.ResumeSpec{Type: "worker", Command: []string{"resume"}}
	sidecarFirst := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "train"}
		p.Spec.Containers = []corev1.Container{{Name: "sidecar"}, {Name: "train", Command: []string{"train"}}}
	})
	job, pods := running(t, 1, kt.Type("worker", 1, sidecarFirst))
	job = kt.Edited(job, kt.PauseNow(true, resume))
	job = after(job, plan(t, job, kt.Start, pods...))
	job = kt.Edited(job, kt.PauseNow(false, resume))
	job = after(job, plan(t, job, kt.Start))
	pod := kt.Pod(job, "worker", 0)
	require.Empty(t, pod.Spec.Containers[0].Command)
	require.Equal(t, []string{"resume"}, pod.Spec.Containers[1].Command)
}

func TestDebugPods(t *testing.T) {
	probe := &corev1.Probe{PeriodSeconds: 1}
	full := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "init", Command: []string{"prepare"}}}
		p.Spec.Containers[0] = corev1.Container{Name: "main", Command: []string{"train"}, Args: []string{"--x"}, LivenessProbe: probe,
			ReadinessProbe: probe, StartupProbe: probe, Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{}}}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "helper"})
	})
	tests := map[string]struct {
		sets    []v1beta1.ReplicaDebugSet
		command []string
		init    int
	}{
		"default":           {nil, []string{"sleep", "inf"}, 1},
		"own command":       {[]v1beta1.ReplicaDebugSet{{Type: "worker", Command: []string{"sshd", "-p", "22$(rank)"}}}, []string{"sshd", "-p", "220"}, 1},
		"skipInitContainer": {[]v1beta1.ReplicaDebugSet{{Type: "worker", SkipInitContainer: true}}, []string{"sleep", "inf"}, 0},
		"another type":      {[]v1beta1.ReplicaDebugSet{{Type: "ps", SkipInitContainer: true, Command: []string{"x"}}}, []string{"sleep", "inf"}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, full), kt.DebugNow(true, tc.sets...), kt.Begun)
			pod := kt.Pod(job, "worker", 0)
			require.Equal(t, "true", pod.Labels[v1beta1.LabelDebug])
			require.Len(t, pod.Spec.InitContainers, tc.init)
			for _, c := range pod.Spec.Containers {
				require.Equal(t, corev1.Container{Name: c.Name, Command: tc.command, TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError}, c)
			}
		})
	}
}

func TestEndOfADebugPodSaysNothing(t *testing.T) {
	for _, kind := range []v1beta1.RestartPolicyType{never, onFailure, always, exitCode} {
		for name, end := range map[string][]kt.PodOption{
			"0": {kt.Exited(0)}, "1": {kt.Exited(1)}, "evicted": {kt.Exited(137), kt.Disrupted}, "deleted": {kt.Running, kt.Deleted(kt.Start, 0)},
		} {
			t.Run(string(kind)+"/"+name, func(t *testing.T) {
				job := kt.Job(kt.Type("worker", 1, kt.Policy(kind, 0)), kt.DebugNow(true), kt.Begun)
				d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, end...))
				require.Nil(t, d.Status.CompletionTime, condition(d.Status, v1beta1.ConditionFailed).Message)
				require.Zero(t, d.Status.BackoffCount)
				require.Zero(t, d.Status.DisruptionCount)
				require.Empty(t, ledger(d.Status, "worker").Succeeded+ledger(d.Status, "worker").Failed)
				require.Contains(t, did(plan(t, after(job, d), kt.Start)), "CreatePod worker-0@1")
			})
		}
	}
}

func TestSwitchingDebug(t *testing.T) {
	job, pods := running(t, 1, kt.Type("worker", 1))
	debug := kt.Edited(job, kt.DebugNow(true))
	d := plan(t, debug, kt.Start, pods...)
	require.Equal(t, []string{"StopPod worker-0"}, did(d))
	debug = after(debug, d)
	require.EqualValues(t, 1, debug.Status.ModeGeneration)
	debugPods := kt.Pods(debug, "worker", 1, kt.Running)
	require.Empty(t, did(plan(t, debug, kt.Start, debugPods...)))

	other := kt.Edited(debug, kt.DebugNow(true, v1beta1.ReplicaDebugSet{Type: "worker", Command: []string{"sshd"}}))
	require.Equal(t, []string{"StopPod worker-0"}, did(plan(t, other, kt.Start, debugPods...)), "another command is another mode")

	pause := kt.Edited(debug, kt.PauseNow(true))
	d = plan(t, pause, kt.Start, debugPods...)
	require.Equal(t, "Paused", d.Status.Mode, "pause wins over debug")
	require.Equal(t, []string{"StopPod worker-0"}, did(d))

	back := kt.Edited(debug, kt.DebugNow(false))
	back = after(back, plan(t, back, kt.Start, debugPods...))
	require.Equal(t, "Immediate", back.Status.Mode)
	require.EqualValues(t, 2, back.Status.ModeGeneration)
	require.Equal(t, []string{"CreatePod worker-0@0"}, did(plan(t, back, kt.Start)))
	require.Empty(t, kt.Pod(back, "worker", 0).Spec.Containers[0].Command)
	require.NotContains(t, kt.Pod(back, "worker", 0).Labels, v1beta1.LabelDebug)
}

// A spec that was edited wrongly in a pause fails nothing: the job stays paused until it is mended.
func TestInvalidEditInAPauseBlocks(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2))
	job = kt.Edited(job, kt.PauseNow(true))
	job = after(job, plan(t, job, kt.Start, pods...))
	job = after(job, plan(t, job, kt.Start))
	job = kt.Edited(job, kt.PauseNow(false), success(v1beta1.FinishRule{"chief": nil}))
	d := plan(t, job, kt.At(time.Minute))
	require.Nil(t, d.Status.CompletionTime)
	require.Empty(t, d.Actions)
	require.Equal(t, v1beta1.JobPaused, d.Status.Phase, "else the CRD would not let the user mend the spec")
	blocked := condition(d.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonInvalidSpec, blocked.Reason)
	require.Contains(t, blocked.Message, "spec.successRules[0].chief")
	require.Equal(t, v1beta1.Aggregate{Deleted: 2}, d.Status.Aggregate, "nothing is being created")
	require.Contains(t, condition(d.Status, v1beta1.ConditionPaused).Message, "stays paused, though spec.runMode.pause.enabled is false")
	require.Equal(t, v1beta1.TimePaused, d.Status.Time.Open.Cause)

	job = kt.Edited(after(job, d), success(v1beta1.FinishRule{"worker": nil}))
	d = plan(t, job, kt.At(2*time.Minute))
	require.Equal(t, v1beta1.JobResuming, d.Status.Phase)
	require.EqualValues(t, 120, d.Status.PausedSeconds)
	require.Len(t, d.Actions, 2)
}

func TestDebugModeLeavesAnAuxiliaryReplicaAsItIs(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Type("store", 1, auxiliary), kt.DebugNow(true), kt.Begun)
	builder := kernel.NewPodBuilder(job, kt.Settings)
	require.Equal(t, []string{"sleep", "inf"}, builder.Pod(kernel.Action{Type: "worker"}).Spec.Containers[0].Command)
	require.Empty(t, builder.Pod(kernel.Action{Type: "store"}).Spec.Containers[0].Command)
}
