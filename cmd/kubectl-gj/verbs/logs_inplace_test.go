package verbs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/build"
)

// The pod of a replica that was restarted in place is still there. It has the log of before, in the container before or in the same one.
func TestLogsOfTheFirstFailureAfterARestartInPlace(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("in-place", phase(v1beta1.JobRunning))
	begun := time.Now().Truncate(time.Second).Add(time.Hour)
	at := func(seconds int) metav1.Time { return metav1.NewTime(begun.Add(time.Duration(seconds) * time.Second)) }
	status := running()
	status.ContainerStatuses[0].RestartCount = 1
	status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: at(0), FinishedAt: at(10)}
	status.ContainerStatuses[0].State.Running.StartedAt = at(11)
	pod := s.pod(job, 0, k.node, status)
	key := pod.Name + "/tensorflow"
	k.before[key] = []line{{at(9).Time, "loss is nan"}}
	k.logs[key] = []line{{at(12).Time, "Traceback"}, {at(13).Time, "ValueError: no"},
		{at(13).Time, "genericjob wrapper: attempt 1 has ended with exit code 1; waiting for an order"}, {at(14).Time, "anew"}}
	first := func(seconds int, flags ...string) (out, problem string) {
		s.setStatus(job, func(job *v1beta1.GenericJob) {
			job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: pod.Name, Container: "tensorflow",
				ExitCode: ptr.To[int32](1), Time: ptr.To(at(seconds)), Message: "kept"}}
			job.Status.Failures = []v1beta1.ReplicaFailure{job.Status.FirstFailure.ReplicaFailure}
		})
		out, problem, code := s.types(append([]string{"logs", "in-place", "--first-failure"}, flags...)...)
		require.Zero(t, code)
		return out, problem
	}
	out, problem := first(10)
	require.Equal(t, "[worker-0] loss is nan\n", out)
	require.NotContains(t, problem, "is gone")
	out, problem = first(13)
	require.Equal(t, "[worker-0] Traceback\n[worker-0] ValueError: no\n[worker-0] genericjob wrapper: attempt 1 has ended with exit code 1; waiting for an order\n", out)
	require.Contains(t, problem, "It was restarted in its pod: what it said since is in `kubectl gj logs gj/in-place -n "+s.ns+" worker-0`.")
	out, _ = first(13, "--tail=2")
	require.Equal(t, "[worker-0] ValueError: no\n[worker-0] genericjob wrapper: attempt 1 has ended with exit code 1; waiting for an order\n", out)
	out, problem = first(-5)
	require.Equal(t, "[worker-0] kept\n", out, "the run is older than the logs that a node keeps")
	require.Contains(t, problem, "the node no longer has the log of that run")
	k.mu.Lock()
	k.gone[key] = "unable to retrieve container logs for containerd://8cdfe489"
	k.mu.Unlock()
	out, _ = first(13)
	require.Equal(t, "[worker-0] kept\n", out)
}

// Code that fails at once is restarted before its log is open, which is then that of the second run.
func TestLogsOfARunThatEndsBeforeItsLogIsOpen(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("brief", phase(v1beta1.JobRunning))
	pod := build.NewBuilder(job, build.Run{}).Pod("worker", 0, 0)
	pod.Finalizers, pod.Spec.NodeName, pod.Spec.RestartPolicy = nil, k.node, corev1.RestartPolicyOnFailure
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: inplace.Volume})
	require.NoError(t, s.Create(t.Context(), pod))
	begun := time.Now().Truncate(time.Second)
	key := pod.Name + "/tensorflow"
	k.before[key] = []line{{begun.Add(300 * time.Millisecond), "loss is nan"}}
	k.logs[key] = []line{{begun.Add(2 * time.Second), "anew"}}
	first := running()
	first.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(begun)
	s.become(pod, first)
	done := make(chan string)
	go func() {
		out, _, _ := s.types("logs", "brief", "-f")
		done <- out
	}()
	until(t, "the log is read", func() bool { return k.gave("anew") })
	over := ended(0, time.Now())
	over.ContainerStatuses[0].RestartCount = 1
	s.become(pod, over)
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	require.Equal(t, "[worker-0] loss is nan\n[worker-0] anew\n", <-done)
}

// A kubelet that has lost a log says so in its place. Nobody takes that for words of the replica, and the log is followed on.
func TestALogThatIsGoneIsNoOutput(t *testing.T) {
	const gone = `failed to try resolving symlinks in path "/var/log/pods/a/b/0.log": lstat /var/log/pods/a/b/0.log: no such file or directory`
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("lost", phase(v1beta1.JobRunning))
	pod := s.pod(job, 0, k.node, running())
	lose := func(words string) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.gone[pod.Name+"/tensorflow"] = words
	}
	lose(gone)
	out, problem, code := s.types("logs", "lost")
	require.Equal(t, 4, code)
	require.Empty(t, out)
	require.Contains(t, problem, "its node no longer has this log")

	type said struct{ out, problem string }
	done := make(chan said)
	go func() {
		out, problem, _ := s.types("logs", "lost", "-f")
		done <- said{out, problem}
	}()
	asked := k.times(pod.Name)
	until(t, "the log is asked for again", func() bool { return k.times(pod.Name) >= asked+4 })
	k.says(pod.Name, "tensorflow", "trained")
	lose("")
	until(t, "it is read", func() bool { return k.gave("trained") })
	lose(gone)
	s.become(pod, ended(0, time.Now()))
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	end := <-done
	require.Equal(t, "[worker-0] trained\n", end.out)
	require.Contains(t, end.problem, "its node no longer has this log")
}
