package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const trainer = `
replicaSpecs:
- type: worker
  replicas: 2
  template:
    spec:
      initContainers: [{name: fetch, image: busybox, command: [fetch]}]
      containers:
      - {name: main, image: busybox, command: [train], args: [--new], livenessProbe: {exec: {command: [probe]}}, lifecycle: {preStop: {exec: {command: [hook]}}}}
      - {name: helper, image: busybox, command: [help]}
`

func mode(debug, pause bool) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) {
		if s.RunMode == nil {
			s.RunMode = &v1beta1.RunMode{}
		}
		if s.RunMode.Pause == nil {
			s.RunMode.Pause = &v1beta1.PauseMode{}
		}
		if s.RunMode.Debug == nil {
			s.RunMode.Debug = &v1beta1.DebugMode{}
		}
		s.RunMode.Debug.Enabled, s.RunMode.Pause.Enabled = debug, pause
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("nap", `runMode: {pause: {resumeSpecs: [{type: worker, skipInitContainer: true, command: [train], args: [--from-checkpoint]}]}}`+trainer)
	job := c.awaitPhase("nap", v1beta1.JobRunning)
	require.Equal(t, []string{"--new"}, c.pods(job)["worker-0"].Spec.Containers[0].Args)
	c.finish(job, "worker-1", 0)
	c.await("nap", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })

	c.be(func(k *kubelet) { k.stuck = true })
	c.edit("nap", mode(false, true))
	c.await("nap", func(j *v1beta1.GenericJob) bool { return j.Status.Mode == "Paused" })
	c.until("a graceful stop", func() bool {
		pod := c.pods(job)["worker-0"]
		return pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) > 0
	})
	require.Equal(t, v1beta1.JobRunning, c.job("nap").Status.Phase, "not Paused before the last pod is gone")
	// Code that saves its state and exits with 0 when it is asked to stop has not succeeded.
	c.be(func(k *kubelet) { k.stuck, k.ExitCode = false, 0 })
	job = c.awaitPhase("nap", v1beta1.JobPaused)
	require.NotContains(t, c.names(job), "worker-0")
	require.Equal(t, v1beta1.Aggregate{Succeeded: 1, Deleted: 1}, job.Status.Aggregate)
	c.awaitEvent(job, "Normal Paused")

	c.be(func(k *kubelet) { k.idle = true })
	c.edit("nap", mode(false, false))
	c.awaitPhase("nap", v1beta1.JobResuming)
	c.be(func(k *kubelet) { k.idle = false })
	job = c.awaitPhase("nap", v1beta1.JobRunning)
	pod := c.pods(job)["worker-0"]
	require.Empty(t, pod.Spec.InitContainers)
	require.Equal(t, []string{"--from-checkpoint"}, pod.Spec.Containers[0].Args)
	require.Equal(t, []string{"help"}, pod.Spec.Containers[1].Command)
	require.Zero(t, job.Status.BackoffCount)
	require.Zero(t, job.Status.DisruptionCount)
	require.Equal(t, metav1.ConditionFalse, condition(job, v1beta1.ConditionPaused).Status)
	c.finish(job, "worker-0", 0)
	c.awaitPhase("nap", v1beta1.JobSucceeded)
}

func TestDebugMode(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("look", `runMode: {debug: {enabled: true}}`+trainer)
	job := c.awaitPhase("look", v1beta1.JobRunning)
	pod := c.pods(job)["worker-1"]
	require.Len(t, pod.Spec.InitContainers, 1)
	for _, container := range pod.Spec.Containers {
		require.Equal(t, []string{"sleep", "inf"}, container.Command)
		require.Empty(t, container.Args)
		require.Nil(t, container.LivenessProbe)
		require.Nil(t, container.Lifecycle)
	}

	c.edit("look", func(s *v1beta1.GenericJobSpec) {
		s.RunMode.Debug.ReplicaSpecs = []v1beta1.ReplicaDebugSet{{Type: "worker", SkipInitContainer: true, Command: []string{"sleep", "60"}}}
	})
	c.until("pods by the new debug specs", func() bool {
		pod := c.pods(job)["worker-1"]
		return len(pod.Spec.Containers) > 0 && pod.Spec.Containers[0].Command[1] == "60" && len(pod.Spec.InitContainers) == 0
	})

	c.edit("look", mode(false, false))
	c.until("the training", func() bool {
		pods := c.pods(job)
		n := 0
		for _, pod := range pods {
			if pod.Spec.Containers[0].Command[0] == "train" && pod.Spec.Containers[0].LivenessProbe != nil {
				n++
			}
		}
		return n == 2
	})
	c.finish(job, "worker-0", 0)
	c.finish(job, "worker-1", 0)
	job = c.awaitPhase("look", v1beta1.JobSucceeded)
	require.Zero(t, job.Status.BackoffCount)
	require.Zero(t, job.Status.DisruptionCount)
}

func TestPauseWinsOverDebugAndMayComeFirst(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("both", `runMode: {debug: {enabled: true}, pause: {enabled: true, resumeSpecs: [{type: worker, args: [--resumed]}]}}`+trainer)
	job := c.awaitPhase("both", v1beta1.JobPaused)
	require.Empty(t, c.pods(job))
	require.Nil(t, job.Status.StartTime)
	c.edit("both", mode(false, false))
	job = c.awaitPhase("both", v1beta1.JobRunning)
	require.Equal(t, []string{"--new"}, c.pods(job)["worker-0"].Spec.Containers[0].Args, "what has not run cannot be resumed")
}

func TestScaling(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("elastic", "failureRules: [{worker: [1]}]\nreplicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	c.awaitPhase("elastic", v1beta1.JobRunning)
	scale := func(n int32) {
		c.edit("elastic", func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Replicas = &n })
	}
	first := c.pods(job)["worker-1"].UID
	scale(4)
	c.until("four pods", func() bool { return len(c.pods(job)) == 4 })
	scale(2)
	c.until("two pods", func() bool { return len(c.pods(job)) == 2 })
	require.Equal(t, first, c.pods(job)["worker-1"].UID, "the lower ranks are not touched")
	scale(1)
	_, told := c.awaitCondition("elastic", v1beta1.ConditionBlocked, v1beta1.ReasonScaleRefused)
	require.Contains(t, told.Message, "Set replicas to 2 or more")
	require.Len(t, c.pods(job), 2)
	scale(2)
	job = c.await("elastic", func(j *v1beta1.GenericJob) bool { return condition(j, v1beta1.ConditionBlocked).Type == "" })
	require.Zero(t, job.Status.BackoffCount)
}

func TestEditsWhileRunningAndWhilePaused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("edit", "service: {ports: [{name: a, port: 1000}]}\nreplicaSpecs: [{type: worker, template: POD}]")
	c.awaitPhase("edit", v1beta1.JobRunning)
	err := c.tryEdit("edit", func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Template.Spec.Containers[0].Image = "other" })
	require.ErrorContains(t, err, "spec.runMode.pause.enabled")

	c.edit("edit", mode(false, true))
	c.awaitPhase("edit", v1beta1.JobPaused)
	c.edit("edit", func(s *v1beta1.GenericJobSpec) {
		mode(false, false)(s)
		s.ReplicaSpecs[0].Template.Spec.Containers[0].Image = "other"
		s.Service.Ports[0].Port = 2000
	})
	job := c.awaitPhase("edit", v1beta1.JobRunning)
	require.Equal(t, "other", c.pods(job)["worker-0"].Spec.Containers[0].Image)
	service := &corev1.Service{}
	require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), service))
	require.Equal(t, int32(2000), service.Spec.Ports[0].Port)
}
