package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// stopTogether has all replicas stop when one is being deleted.
func stopTogether(job *v1beta1.GenericJob) { job.Spec.StopTogether = true }

// watched has a job's output be looked at.
func watched(line string) kt.JobOption {
	return func(job *v1beta1.GenericJob) {
		job.Spec.Heartbeat = &v1beta1.Heartbeat{Stdout: line}
		job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = []string{"train", "--attempt=$(attempt)"}
	}
}

const tells = "step (?P<step>[0-9]+)"

// wrapped is the pod of a replica as an operator makes it that has the wrapper's image.
func wrapped(job *v1beta1.GenericJob, rank int, options ...kt.PodOption) *corev1.Pod {
	settings := kt.Settings
	settings.WrapperImage = "wrapper"
	pod := kernel.NewPodBuilder(job, settings).Pod(kernel.Action{Verb: kernel.CreatePod, Type: "worker", Rank: rank})
	pod.UID, pod.ResourceVersion, pod.CreationTimestamp = types.UID(pod.Name), "1", metav1.NewTime(kt.Start)
	for _, option := range options {
		option(pod)
	}
	return pod
}

func withIP(p *corev1.Pod) { p.Status.PodIP = "10.0.0.1" }

func TestAPodThatIsWatchedRunsItsCommandByTheWrapper(t *testing.T) {
	job := workers(1, watched(`loss=\$(rank) end$`))
	job.Spec.Heartbeat.SteadySeconds = new(int32(60))
	kt.Begun(job)
	c := wrapped(job, 0).Spec.Containers[0]
	require.Equal(t, []string{
		"/genericjob.d/state/wrapper", "run", "-pod=$(GENERICJOB_POD)", "-port=10190", "-grace=30s", "-termination-message=/dev/termination-log", "-read-output",
		"-order=attempt=0 go=0 jobAttempt=0", `-beat-line=loss=\$$(rank) end$$`, "-beat-startup=1800s", "-beat-steady=60s", "--", "train", "--attempt=0",
	}, c.Command)
	require.Nil(t, c.RestartPolicy, "its pod is replaced, as any other")

	job.Spec.RestartStrategy = v1beta1.RestartInPlace
	c = wrapped(job, 0).Spec.Containers[0]
	require.Contains(t, c.Command, "-beat-steady=60s")
	require.NotContains(t, c.Command, "-order=attempt=0 go=0 jobAttempt=0", "its orders change")

	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = nil
	require.Empty(t, wrapped(job, 0).Spec.Containers[0].Command, "what its image runs is not known")
	job.Spec.Heartbeat = nil
	kt.Spec(func(s *v1beta1.GenericJobSpec) { s.RestartStrategy = "" })(job)
	require.Empty(t, wrapped(job, 0).Spec.InitContainers, "a job that asks for nothing gets nothing")
}

func TestWhoCannotBeWatchedIsToldOf(t *testing.T) {
	job := workers(1, watched(tells))
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = nil
	d := kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings})
	require.NotNil(t, d.Postponed)
	require.Contains(t, texts(d.Postponed.Events), "spec.heartbeat is set, but nobody looks for signs of life of type worker: container main has no command, and what its image runs is not known: set command.")
}

func texts(events []kernel.Event) (text string) {
	for _, e := range events {
		text += e.Message + "\n"
	}
	return text
}

func TestTheLowestReplicaThatRunsIsAskedForProgress(t *testing.T) {
	job := workers(3, watched(tells))
	kt.Begun(job)
	pods := []*corev1.Pod{wrapped(job, 2, kt.Running, withIP), wrapped(job, 1, kt.Running, withIP), wrapped(job, 0, withIP)}
	late := kt.At(kernel.ProgressInterval)
	require.Nil(t, kernel.ProgressPod(job, pods, kt.At(time.Second)), "the code has had no time to begin")
	require.Same(t, pods[1], kernel.ProgressPod(job, pods, late))

	job.Status.Progress = &v1beta1.Progress{Time: metav1.NewTime(kt.At(30 * time.Second))}
	require.Nil(t, kernel.ProgressPod(job, pods, late), "once a minute is often enough")
	job.Status.Progress.Time = metav1.NewTime(late.Add(time.Hour))
	require.NotNil(t, kernel.ProgressPod(job, pods, late), "the clock was set back")
	job.Spec.ReplicaSpecs[0].Auxiliary = true
	require.Nil(t, kernel.ProgressPod(job, pods, late), "the progress of a job is that of who trains")
	job.Spec.ReplicaSpecs[0].Auxiliary = false
	job.Spec.Heartbeat.Stdout = "step [0-9]+"
	require.Nil(t, kernel.ProgressPod(job, pods, late), "there is nothing to tell")
}

func TestTheHighestReplicaIsAskedIfItsProgramPrintsThere(t *testing.T) {
	job := workers(3, watched(tells))
	job.Spec.Progress = &v1beta1.ProgressFormat{Preset: v1beta1.PresetMegatron}
	kt.Begun(job)
	pods := []*corev1.Pod{wrapped(job, 1, kt.Running, withIP), wrapped(job, 2, withIP), wrapped(job, 0, kt.Running, withIP)}
	require.Same(t, pods[0], kernel.ProgressPod(job, pods, kt.At(kernel.ProgressInterval)))
}

func TestProgressIsWrittenSeldom(t *testing.T) {
	job := workers(1, watched(tells))
	kt.Begun(job)
	pods := []*corev1.Pod{wrapped(job, 0, kt.Running, withIP)}
	plan := func(at time.Duration, step, loss string) kernel.Decision {
		d := kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.At(at), Settings: kt.Settings, ProgressReport: inplace.Report{Step: step, Loss: loss}})
		job.Status = d.Status
		return d
	}
	require.Nil(t, plan(2*s, "", "").Status.Progress)
	require.Equal(t, 10*s, plan(m, "", "").RequeueAfter, "nothing is told: nothing is written, and it is asked again")
	require.Nil(t, job.Status.Progress)
	d := plan(2*m, "812", "0.25")
	require.Equal(t, &v1beta1.Progress{Step: new(int64(812)), Loss: "0.25", Time: metav1.NewTime(kt.At(2 * m))}, d.Status.Progress)
	require.Equal(t, kernel.ProgressInterval, d.RequeueAfter)

	require.Equal(t, d.Status, plan(2*m+20*s, "900", "0.2").Status, "too early")
	require.Equal(t, d.Status, plan(9*m, "812", "0.25").Status, "nothing new costs no write")
	require.Equal(t, d.Status, plan(9*m, "-1", "rm -rf /").Status, "what is no number is not told")
	require.Equal(t, d.Status, plan(9*m, "", "").Status, "a pod that does not answer tells nothing")
	require.EqualValues(t, 813, *plan(9*m, "813", "nan").Status.Progress.Step)

	job.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	d = plan(20*m, "999", "")
	require.EqualValues(t, 813, *d.Status.Progress.Step, "a job that is paused makes none")
	require.NotEqual(t, kernel.ProgressInterval, d.RequeueAfter)
}

// Code that fails again and again within a minute never lived when it was asked, and its job told no step.
func TestAJobThatTellsNoProgressYetIsAskedMoreOften(t *testing.T) {
	job := workers(1, watched(tells))
	kt.Begun(job)
	pods := []*corev1.Pod{wrapped(job, 0, kt.Running, withIP)}
	require.Nil(t, kernel.ProgressPod(job, pods, kt.At(9*s)), "its code has had no time to begin")
	require.Same(t, pods[0], kernel.ProgressPod(job, pods, kt.At(10*s)))
	require.Equal(t, 10*s, kernel.AskInterval(job, kt.At(10*m-s)))
	require.Equal(t, m, kernel.AskInterval(job, kt.At(10*m)), "it may never tell any")
	d := kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.At(25 * s), Settings: kt.Settings, ProgressReport: inplace.Report{Step: "3"}})
	require.EqualValues(t, 3, *d.Status.Progress.Step)
	require.Equal(t, m, d.RequeueAfter)

	job.Status = d.Status
	require.Equal(t, m, kernel.AskInterval(job, kt.At(85*s)))
	require.Nil(t, kernel.ProgressPod(job, pods, kt.At(84*s)), "from now on once a minute")
	require.Same(t, pods[0], kernel.ProgressPod(job, pods, kt.At(85*s)))
}

// A job starts when its first pod is created, which may wait for a node or its image for an hour.
func TestCodeThatStartsLateIsAskedOftenToo(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	job = after(job, plan(t, job, kt.At(m), kt.Pods(job, "worker", 1, waitingFor("ContainerCreating"))...))
	job = after(job, plan(t, job, kt.At(15*m), kt.Pods(job, "worker", 1, kt.Running)...))
	require.Equal(t, 10*s, kernel.AskInterval(job, kt.At(25*m-s)))
	require.Equal(t, m, kernel.AskInterval(job, kt.At(25*m)))
}

func TestAQuietJobIsNotLookedAtForProgress(t *testing.T) {
	job := workers(1)
	kt.Begun(job)
	d := kernel.Plan(kernel.World{Job: job, Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running, withIP)}, Now: kt.At(5 * m), Settings: kt.Settings})
	require.Zero(t, d.RequeueAfter)
}

func TestAllStopTogetherInTheirPods(t *testing.T) {
	job := workers(2, watched(tells), kt.JobScope, stopTogether, kt.BackoffLimit(0))
	job.Spec.RestartStrategy = v1beta1.RestartInPlace
	kt.Begun(job)
	pods := []*corev1.Pod{wrapped(job, 0, kt.Running, withIP), wrapped(job, 1, kt.Running, withIP)}
	gone := metav1.NewTime(kt.At(m + 30*s))
	pods[0].DeletionTimestamp, pods[0].DeletionGracePeriodSeconds = &gone, new(int64(30))
	plan := func() kernel.Decision {
		return kernel.Plan(kernel.World{Job: job, Pods: pods, Now: kt.At(m), Settings: kt.Settings})
	}
	d := plan()
	require.Zero(t, d.Status.DisruptionCount, "it is marked first: then its exit with 0 is no success")
	require.Equal(t, []kernel.Verb{kernel.MarkPod}, verbs(d))

	pods[0].Annotations[v1beta1.AnnotationDisrupted] = "true"
	d = plan()
	require.EqualValues(t, 1, d.Status.DisruptionCount)
	require.Zero(t, d.Status.BackoffCount)
	require.Contains(t, texts(d.Events), "is being deleted by somebody, so all stop; all replicas begin again, in their pods where they can, attempt 1")
	job.Status = d.Status
	var told []string
	for _, a := range d.Actions {
		if a.Verb == kernel.OrderPod {
			told = append(told, a.Pod.Labels[v1beta1.LabelReplicaRank]+": "+a.Order.String())
		}
	}
	require.Equal(t, []string{"1: attempt=1 go=0 jobAttempt=1"}, told)

	d = plan()
	require.EqualValues(t, 1, d.Status.DisruptionCount, "once")
	require.NotContains(t, verbs(d), kernel.CreatePod, "its place is not free yet")

	job.Spec.StopTogether = false
	job.Status.JobAttempt, job.Status.DisruptionCount, job.Status.InPlace, job.Status.Ledger = 0, 0, nil, nil
	require.Zero(t, plan().Status.DisruptionCount, "without the field the others go on until it is gone")
}

func verbs(d kernel.Decision) (list []kernel.Verb) {
	for _, a := range d.Actions {
		list = append(list, a.Verb)
	}
	return list
}
