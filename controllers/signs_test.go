package controllers_test

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
)

// All stop while the one that somebody deletes is still there: its node takes its time.
func TestAllStopWhenOneIsAskedToGo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.be(func(k *kubelet) { k.ExitCode = 0 }) // code that saves a checkpoint often exits with 0
	c.operate(operation{})
	job := c.awaitGenericJob(c.trainTorch("ring", "{runPolicy: {restartScope: Job, stopTogether: true, backoffLimit: 0}, replicaSpecs: [{type: worker, replicas: 3, template: POD}]}"))
	c.awaitPhase("ring", v1beta1.JobRunning)
	before := c.pods(job)
	c.be(func(k *kubelet) { k.stuck = true })
	c.remove(before["worker-1"])
	c.until("all are asked to stop", func() bool {
		for _, pod := range c.pods(job) {
			if pod.DeletionTimestamp == nil {
				return false
			}
		}
		return true
	})
	require.Len(t, c.pods(job), len(before), "none is replaced yet")
	c.be(func(k *kubelet) { k.stuck = false })
	for rank := range 3 {
		c.finishAttempt(job, fmt.Sprintf("worker-%d", 2-rank), "1", 0)
	}
	job = c.awaitPhase("ring", v1beta1.JobSucceeded)
	require.EqualValues(t, 1, job.Status.DisruptionCount)
	require.EqualValues(t, 1, job.Status.JobAttempt)
	require.Zero(t, job.Status.BackoffCount)
}

func TestWhatCannotStopTogetherIsToldOf(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.train("apart", "{runPolicy: {restartScope: Replica, stopTogether: true}, replicaSpecs: [{type: worker, replicas: 2, template: POD}]}")
	failed := c.awaitTraining("apart", v1beta1.JobFailed)
	i := slices.IndexFunc(failed.Status.Conditions, func(c v1beta1.JobCondition) bool { return c.Type == v1beta1.ConditionFailed })
	require.Contains(t, failed.Status.Conditions[i].Message, "only replicas that begin again together stop together")
}

func TestATrainingJobOfWhichNobodyLooksForSignsOfLifeSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.trainTorch("blind", "{runPolicy: {heartbeat: {file: /beat}}, replicaSpecs: [{type: worker, replicas: 2, template: POD}]}")
	c.awaitEvent(job, "Warning FieldIgnored", "spec.runPolicy.heartbeat is set, but nobody looks for signs of life of type worker: container python has no command")
}

// A wrapper, of which this machine is the pod, tells the operator how far its code has come.
func TestProgressComesFromTheWrapper(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{settings: kernel.Settings{WrapperImage: "wrapper"}})
	declared, port := portsBelowAFreeOne(t)
	job := c.submit("steps", `
heartbeat: {stdout: 'step (?P<step>\d+) loss (?P<loss>\S+)'}
replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, image: busybox, command: [train], ports: [`+declared+`]}]}}}]`)
	c.awaitPhase("steps", v1beta1.JobRunning)
	pod := c.pods(job)["worker-0"]
	require.Contains(t, pod.Spec.Containers[0].Command, `-beat-line=step (?P<step>\d+) loss (?P<loss>\S+)`)
	require.Contains(t, pod.Spec.Containers[0].Command, fmt.Sprintf("-port=%d", port))
	startWrapper(t, &pod, port, "echo step 812 loss 0.25; sleep 1000")

	c.changeStatus(pod, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}} })
	now := c.awaitStep("steps", 812)
	require.Equal(t, "0.25", now.Status.Progress.Loss)
}

// awaitStep waits until a job shows a step, as if it had begun long ago.
func (c *cluster) awaitStep(name string, step int64) *v1beta1.GenericJob {
	c.t.Helper()
	c.until("it has had time to begin", func() bool {
		began := c.job(name)
		began.Status.StartTime = &metav1.Time{Time: time.Now().Add(-time.Hour)}
		return c.Status().Update(c.ctx, began) == nil
	})
	return c.await(name, func(j *v1beta1.GenericJob) bool {
		return j.Status.Progress != nil && j.Status.Progress.Step != nil && *j.Status.Progress.Step == step
	})
}

// portsBelowAFreeOne finds a port that is free on all addresses of this machine. It declares all others that a wrapper would take first,
// for other tests listen at those.
func portsBelowAFreeOne(t *testing.T) (declared string, port int) {
	t.Helper()
	for port = inplace.Port; port < inplace.Port+64; port++ {
		if port > inplace.Port && reserve(t, port) {
			return declared, port
		}
		declared += fmt.Sprintf("{containerPort: %d}, ", port)
	}
	t.Fatal("no port is free")
	return declared, port
}

// reserve reports whether nobody listens at a port, and no other run of this test is about to.
func reserve(t *testing.T, port int) bool {
	t.Helper()
	name, err := net.Listen("unix", fmt.Sprintf("@genericjob-progress-%d", port))
	if err != nil {
		return false
	}
	t.Cleanup(func() { _ = name.Close() })
	door, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return false
	}
	require.NoError(t, door.Close())
	return true
}

// startWrapper runs a script by the wrapper on this machine, as it would be in a pod.
func startWrapper(t *testing.T, pod *corev1.Pod, port int, script string) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "wrapper")
	built, err := exec.Command("go", "build", "-o", binary, "../cmd/wrapper").CombinedOutput()
	require.NoError(t, err, "%s", built)
	require.NoError(t, exec.Command("mkdir", filepath.Join(dir, "state")).Run())
	w := exec.Command(binary, "run", "-dir="+dir, "-pod="+string(pod.UID), "-order="+inplace.Order{}.String(), fmt.Sprintf("-port=%d", port),
		`-beat-line=step (?P<step>\d+) loss (?P<loss>\S+)`, "-beat-startup=1h", "-beat-steady=1h", "--", "sh", "-c", script)
	require.NoError(t, w.Start())
	t.Cleanup(func() {
		require.NoError(t, w.Process.Signal(syscall.SIGTERM))
		_ = w.Wait()
	})
}

// Rank 1 fails while rank 0, which tells the steps, runs: its wrapper is asked. Then rank 0 fails itself, and has come no farther.
func TestNoProgressIsJudgedByExactSteps(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{settings: kernel.Settings{WrapperImage: "wrapper"}})
	declared, port := portsBelowAFreeOne(t)
	job := c.submit("stuck", `
backoffLimit: 9
restartScope: Job
heartbeat: {stdout: 'step (?P<step>\d+)'}
failurePolicy: {noProgress: {rounds: 2}}
replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: busybox, command: [train], ports: [`+declared+`]}]}}}]`)
	c.awaitPhase("stuck", v1beta1.JobRunning)
	pod := c.pods(job)["worker-0"]
	startWrapper(t, &pod, port, "echo step 99 loss 2; echo step 100 loss 1; sleep 1000")
	c.changeStatus(pod, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = "127.0.0.1", []corev1.PodIP{{IP: "127.0.0.1"}} })
	c.awaitStep("stuck", 100)
	c.finish(job, "worker-1", 7)
	now := c.await("stuck", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 1 })
	require.NotNil(t, now.Status.NoProgress)
	require.Equal(t, v1beta1.NoProgressStatus{
		Rounds: 1, Cause: v1beta1.CauseUnknown, Type: "worker", ExitCode: new(int32(7)), Replica: "worker-0", Step: new(int64(100)), ModeGeneration: now.Status.ModeGeneration,
	}, *now.Status.NoProgress)

	c.until("all run again", func() bool {
		again := c.pods(job)["worker-0"]
		return again.UID != pod.UID && again.Status.Phase == corev1.PodRunning && c.pods(job)["worker-1"].Status.Phase == corev1.PodRunning
	})
	c.changeStatus(c.pods(job)["worker-0"], func(s *corev1.PodStatus) {
		s.Phase = corev1.PodFailed
		s.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 7, FinishedAt: metav1.Now(), Message: "step: 100\noutput:\nends"}}
	})
	_, told := c.awaitCondition("stuck", v1beta1.ConditionFailed, v1beta1.ReasonFailurePolicy)
	require.Contains(t, told.Message, "it failed 2 times in a row by this cause (Unknown, exit code 7 of type worker), and worker-0 told no step after 100")
}
