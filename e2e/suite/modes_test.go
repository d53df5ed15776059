package suite_test

import (
	"encoding/json"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// pauseAndResume has workers that exit with 0 when they are stopped, as programs do that save their state.
func pauseAndResume(s *space) {
	job := s.submit("paused", `
replicaSpecs:
- {type: master, template: `+pod("exit 0")+`}
- {type: worker, replicas: 2, template: `+pod("print first then obey 0")+`}`)
	s.await("paused", "master done, workers run", func(j *v1beta1.GenericJob) bool {
		return j.Status.Phase == v1beta1.JobRunning && j.Status.Aggregate.Succeeded == 1 && j.Status.Aggregate.Running == 2
	})
	s.awaitLog(job, "worker", 0, "first")
	s.awaitLog(job, "worker", 1, "first")
	setColour := func(spec *v1beta1.GenericJobSpec) {
		c := &spec.ReplicaSpecs[1].Template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: "COLOUR", Value: "green"})
	}
	require.ErrorContains(s.t, s.tryEdit("paused", setColour), "template is immutable unless the job is paused")

	s.edit("paused", func(spec *v1beta1.GenericJobSpec) {
		spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true, ResumeSpecs: []v1beta1.ResumeSpec{
			{Type: "worker", Args: []string{"print", "resumed", "then", "env", "COLOUR", "then", "obey"}},
		}}}
	})
	job = s.awaitPhase("paused", v1beta1.JobPaused)
	require.EqualValues(s.t, 2, job.Status.Aggregate.Deleted)
	require.EqualValues(s.t, 1, job.Status.Aggregate.Succeeded)
	s.awaitPods(job, "master-0")
	s.edit("paused", setColour)

	s.edit("paused", func(spec *v1beta1.GenericJobSpec) { spec.RunMode.Pause.Enabled = false })
	s.await("paused", "workers run again", func(j *v1beta1.GenericJob) bool {
		return j.Status.Phase == v1beta1.JobRunning && j.Status.Aggregate.Running == 2
	})
	for rank := range 2 {
		s.awaitLog(job, "worker", rank, "resumed\nCOLOUR=green\n")
		s.end(job, "worker", rank, 0)
	}
	done := s.awaitPhase("paused", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "master", 1)
	s.requireRuns(job, "worker", 2, 2)
}

// debugAndBack has a job that would fail at once, behind an init container that fails and a probe that kills.
func debugAndBack(s *space) {
	template := corev1.PodTemplateSpec{}
	require.NoError(s.t, json.Unmarshal([]byte(pod("exit 1")), &template))
	main := &template.Spec.Containers[0]
	main.StartupProbe = &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/worker", "exit", "1"}}},
		FailureThreshold: 1, PeriodSeconds: 1,
	}
	setup := *main.DeepCopy()
	setup.Name, setup.Args, setup.StartupProbe = "setup", []string{"exit", "1"}, nil
	template.Spec.InitContainers = []corev1.Container{setup}
	text, err := json.Marshal(template)
	require.NoError(s.t, err)
	job := s.submit("debugged", `
runMode: {debug: {enabled: true, replicaSpecs: [{type: worker, skipInitContainer: true}]}}
replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {policy: Never}, template: `+string(text)+`}]`)

	s.awaitRunning("debugged", "2/2")
	pod := s.pods(job)["worker-0"]
	require.Equal(s.t, []string{"sleep", "inf"}, pod.Spec.Containers[0].Command)
	require.Empty(s.t, pod.Spec.Containers[0].Args)
	require.Empty(s.t, pod.Spec.InitContainers)
	shell, err := s.kubectl("exec", pod.Name, "--", "/worker", "print", "looking", "around")
	require.NoError(s.t, err, shell)
	require.Contains(s.t, shell, "looking around")

	s.edit("debugged", func(spec *v1beta1.GenericJobSpec) {
		spec.RunMode.Debug.ReplicaSpecs[0].Command = []string{"/worker", "print", "rank", "$(rank)", "then", "obey"}
	})
	s.awaitLog(job, "worker", 1, "rank 1\n")
	s.awaitRunning("debugged", "2/2")
	s.requireRuns(job, "worker", 2, 2)

	s.edit("debugged", func(spec *v1beta1.GenericJobSpec) { spec.RunMode.Debug.Enabled = false })
	done := s.awaitPhase("debugged", v1beta1.JobFailed)
	told := condition(done, v1beta1.ConditionFailed).Message
	require.Contains(s.t, told, "exited with error code 1 in container setup")
	require.Contains(s.t, told, "restart policy Never does not restart it")
	require.Zero(s.t, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	for rank := range 2 {
		require.LessOrEqual(s.t, s.runs(job, "worker", rank), 3)
	}
}

func scaleUpAndDown(s *space) {
	job := s.submit("scaled", `{replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {limit: 1}, template: `+pod("obey")+`}]}`)
	scale := func(n int32, running string, names ...string) {
		s.edit("scaled", func(spec *v1beta1.GenericJobSpec) { spec.ReplicaSpecs[0].Replicas = ptr.To(n) })
		s.awaitRunning("scaled", running)
		s.awaitPods(job, names...)
	}
	s.awaitRunning("scaled", "2/2")
	s.end(job, "worker", 1, 0)
	s.await("scaled", "worker-1 succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	scale(4, "3/3", "worker-0", "worker-1", "worker-2", "worker-3")
	s.end(job, "worker", 3, 1)
	s.await("scaled", "worker-3 restarted", func(j *v1beta1.GenericJob) bool {
		return j.Status.BackoffCount == 1 && j.Status.Aggregate.Running == 3
	})
	scale(1, "1/1", "worker-0")
	s.end(job, "worker", 0, 0)
	done := s.awaitPhase("scaled", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.DisruptionCount)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	s.requireRuns(job, "worker", 1, 1, 1, 2)
	require.Equal(s.t, spec.PodName(job, "worker", 0), done.Status.Tasks[0].Replicas[0].Name)
}
