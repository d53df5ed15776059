package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// waitingFor is what a kubelet says of a container that it cannot start.
func waitingFor(reason string) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.Scheduled(p)
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason},
		}}}
	}
}

// notExecuted is what it says of a program that it cannot execute.
func notExecuted(p *corev1.Pod) {
	kt.Exited(128)(p)
	p.Status.ContainerStatuses[0].State.Terminated.Reason = "StartError"
}

// imageOf names another image in the template of a type.
func imageOf(replicaType, image string) kt.JobOption {
	return func(j *v1beta1.GenericJob) {
		for i := range j.Spec.ReplicaSpecs {
			if r := &j.Spec.ReplicaSpecs[i]; r.Type == replicaType {
				r.Template.Spec.Containers[0].Image = image
			}
		}
	}
}

// unstarted is a job of two workers with a status, whose pods wait for their image.
func unstarted(options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2, kt.Policy(onFailure, 3)), kt.Begun}, options...)...)
	return job, kt.Pods(job, "worker", 2, waitingFor("ImagePullBackOff"))
}

func TestAnEditBeforeCodeHasStartedBringsNewPods(t *testing.T) {
	job, pods := unstarted()
	d := plan(t, job, kt.At(time.Minute), pods...)
	job = after(job, d)
	require.NotEmpty(t, job.Status.UnstartedSpec)

	job = kt.Edited(job, imageOf("worker", "right"))
	d = plan(t, job, kt.At(2*time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.ModeGeneration)
	require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d))
	require.Equal(t, []kernel.Event{{Reason: "Edited", Message: "The spec was edited before code of the job was seen to start: pods of the earlier spec are made again."}}, d.Events)
	require.Equal(t, "Waiting for replica worker-0: its pod is made again", condition(d.Status, v1beta1.ConditionRunning).Message)
	job = after(job, d)
	d = plan(t, job, kt.At(2*time.Minute), pods...)
	require.Equal(t, []string{"StopPod worker-0", "StopPod worker-1"}, did(d), "until they go")
	require.Empty(t, d.Events, "once for each edit")

	d = plan(t, job, kt.At(3*time.Minute))
	require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d))
	pod := kernel.NewPodBuilder(after(job, d), kt.Settings).Pod(d.Actions[0])
	require.Equal(t, "right", pod.Spec.Containers[0].Image)
	require.Equal(t, "1", pod.Labels[v1beta1.LabelModeGeneration])

	d = plan(t, after(job, d), kt.At(4*time.Minute), kt.Pods(job, "worker", 2, kt.Running)...)
	require.Empty(t, d.Status.UnstartedSpec, "from now on it is edited in a pause")
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Zero(t, d.Status.BackoffCount+d.Status.DisruptionCount)
}

// The apiserver has let the edit pass, and code had started meanwhile.
func TestAnEditThatMeetsTheStartOfCode(t *testing.T) {
	for name, tc := range map[string]struct {
		of   kt.PodOption
		want string
	}{
		"code that runs":                    {kt.Running, "StopPod worker-0"},
		"code that has failed does not":     {kt.Exited(1), "ReleasePod worker-0"},
		"code that has done its work":       {kt.Exited(0), "ReleasePod worker-0"},
		"a pod that its node has evicted":   {func(p *corev1.Pod) { kt.Exited(137)(p); kt.Disrupted(p) }, "ReleasePod worker-0"},
		"a program that cannot be executed": {notExecuted, "ReleasePod worker-0"},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := unstarted()
			pods[0] = kt.Pod(job, "worker", 0, tc.of)
			d := plan(t, kt.Edited(job, imageOf("worker", "right")), kt.At(time.Minute), pods...)
			require.EqualValues(t, 1, d.Status.ModeGeneration)
			require.Zero(t, d.Status.BackoffCount+d.Status.DisruptionCount+d.Status.JobAttempt)
			require.Empty(t, d.Status.Failures)
			require.Equal(t, tc.want, did(d)[0])
			require.Contains(t, did(d), "StopPod worker-1")
			require.NotEmpty(t, d.Status.UnstartedSpec, "code of this spec has not started")
			done := ledger(d.Status, "worker").Succeeded
			require.Equal(t, name == "code that has done its work", done == "0", done)
		})
	}
}

func TestWhichEditsBringNewPods(t *testing.T) {
	for name, tc := range map[string]struct {
		edit kt.JobOption
		want int32
	}{
		"a port":      {kt.WithService(corev1.ServicePort{Name: "http", Port: 80}), 1},
		"a heartbeat": {kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{File: "/beat"} }), 1},
		"progress":    {kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Progress = &v1beta1.ProgressFormat{Preset: "torchtitan"} }), 1},
		"nodeLost":    {kt.Spec(func(s *v1beta1.GenericJobSpec) { s.NodeLost = &v1beta1.NodeLost{AfterSeconds: 30} }), 1},
		"a label":     {kt.Spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Template.Labels = map[string]string{"a": "b"} }), 1},
		"replicas":    {kt.Replicas("worker", 1), 0},
		"a deadline":  {deadline(600), 0},
		"a limit":     {kt.BackoffLimit(7), 0},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := unstarted()
			d := plan(t, kt.Edited(job, tc.edit), kt.At(time.Minute), pods...)
			require.Equal(t, tc.want, d.Status.ModeGeneration)
			require.NotEmpty(t, d.Status.UnstartedSpec)
		})
	}
}

func TestWhenCodeHasStarted(t *testing.T) {
	store := kt.Type("store", 1, func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true })
	for name, tc := range map[string]struct {
		of      kt.PodOption
		started bool
	}{
		"it runs":                        {kt.Running, true},
		"it has ended":                   {kt.Exited(0), true},
		"it waits for its image":         {waitingFor("ErrImagePull"), false},
		"it is not placed":               {func(*corev1.Pod) {}, false},
		"its program cannot be executed": {notExecuted, false},
		"its node has turned it away":    {kt.FailedWithout("OutOfcpu"), false},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := unstarted(store)
			job.Status = v1beta1.GenericJobStatus{}
			kt.Begun(job)
			d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, tc.of), pods[1], kt.Pod(job, "store", 0, kt.Running))
			require.Equal(t, tc.started, d.Status.UnstartedSpec == "")
		})
	}
	t.Run("it has ended, and is to start again in its pod", func(t *testing.T) {
		job, _ := unstarted(kt.InPlace)
		d := plan(t, job, kt.At(time.Minute), kt.Pods(job, "worker", 2, waitingFor("CrashLoopBackOff"), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
		})...)
		require.Empty(t, d.Status.UnstartedSpec)
	})
	t.Run("a job that has failed is not edited any more", func(t *testing.T) {
		job, pods := unstarted(deadline(30))
		d := plan(t, job, kt.At(time.Minute), pods...)
		require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
		require.Empty(t, d.Status.UnstartedSpec)
	})
}

// A template that cannot be expanded makes no pods, whether or not those of the one before are gone.
func TestAnEditBeforeCodeHasStartedMayBeWrong(t *testing.T) {
	job, pods := unstarted()
	job = kt.Edited(job, kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{"$(replicas[ps])"}
	}))
	d := plan(t, job, kt.At(time.Minute), with(pods, kt.Running)...)
	for i := range 3 {
		require.Equal(t, "InvalidSpec", condition(d.Status, v1beta1.ConditionBlocked).Reason)
		require.NotEqual(t, v1beta1.JobFailed, d.Status.Phase)
		require.NotEmpty(t, d.Status.UnstartedSpec, "it may be corrected at once")
		job = after(job, d)
		d = plan(t, job, kt.At(time.Duration(i+2)*time.Minute))
		require.Empty(t, did(d))
	}
	job = kt.Edited(job, imageOf("worker", "right"), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.ReplicaSpecs[0].Template.Spec.Containers[0].Args = nil
	}))
	d = plan(t, job, kt.At(time.Hour))
	require.EqualValues(t, 2, d.Status.ModeGeneration)
	require.Equal(t, []string{"CreatePod worker-0@0", "CreatePod worker-1@0"}, did(d))
}

func TestAnEditOfAnAdmittedJobThatHasNotStarted(t *testing.T) {
	admitted := func() *kt.Story {
		story := kt.NewStory(workers(2, inQueue("team", "")))
		return story.Then(m, "Kueue admits the job", story.Cluster.Admit)
	}
	t.Run("for the quota that it has", func(t *testing.T) {
		story := admitted().Edit(m, "corrects the image", imageOf("worker", "right"))
		require.True(t, story.Cluster.Is("Admitted"))
		story.Kubelet(5 * s).Kubelet(2 * s)
		require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
		require.Equal(t, "right", podOf(story, "worker-0").Spec.Containers[0].Image)
	})
	t.Run("for other quota", func(t *testing.T) {
		story := admitted().Edit(m, "asks for more", kt.Spec(func(s *v1beta1.GenericJobSpec) {
			s.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("7")}
		}))
		require.Contains(t, condition(story.Cluster.Job.Status, v1beta1.ConditionRunning).Message, "other quota than the queue team has admitted")
		story.Kubelet(5 * s).Kubelet(s).Kubelet(s)
		require.False(t, story.Cluster.Is("Admitted"), "no pod is made for quota of another size")
		require.Empty(t, story.Cluster.Pods)
		story.Then(m, "Kueue admits the job", story.Cluster.Admit).Kubelet(2 * s)
		require.Equal(t, v1beta1.JobRunning, story.Cluster.Job.Status.Phase)
		require.Zero(t, story.Cluster.Job.Status.DisruptionCount)
	})
}

// A kubelet that ends a pod before it has made the container calls that lost.
func TestCodeThatHasNotStartedMayStartUnderNever(t *testing.T) {
	for name, tc := range map[string]struct {
		id   string
		want v1beta1.JobPhase
	}{
		"the image was being pulled": {"", v1beta1.JobPending},
		"the code ran":               {"containerd://1", v1beta1.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartNever, -1)), kt.Begun)
			d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(137), kt.Deleted(kt.Start, 30*time.Second), func(p *corev1.Pod) {
				c := &p.Status.ContainerStatuses[0]
				c.ContainerID, c.State.Terminated.Reason, c.State.Terminated.FinishedAt = tc.id, "ContainerStatusUnknown", metav1.Time{}
			}))
			require.Equal(t, tc.want, d.Status.Phase)
			require.Zero(t, d.Status.BackoffCount)
		})
	}
}
