package suite_test

import (
	"os/exec"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The container whose code a wrapper runs is as its template says.

// restrictedInPlace runs where Pod Security `restricted` is enforced, as somebody without rights. It has a root file system that is
// read-only, an image without a shell, and a folder of its own. It leaves its last words.
func restrictedInPlace(s *space) {
	ns := &corev1.Namespace{}
	require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Name: s.ns}, ns))
	patch := client.MergeFrom(ns.DeepCopy())
	ns.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	require.NoError(s.t, s.Patch(s.ctx, ns, patch))
	job := s.submit("restricted", `
restartStrategy: InPlace
replicaSpecs:
- type: worker
  restartPolicy: {limit: 1}
  template:
    spec:
      securityContext: {runAsNonRoot: true, runAsUser: 1234, runAsGroup: 4321, seccompProfile: {type: RuntimeDefault}}
      containers:
      - name: main
        image: `+image+`
        imagePullPolicy: Never
        command: [worker]
        args: [where, then, say, /dev/termination-log, last words of $(attempt), then, print, attempt $(attempt), then, obey]
        workingDir: /proc/self
        env: [{name: PATH, value: /bin:/}]
        securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
`)
	s.awaitLog(job, "worker", 0, "attempt 0")
	require.Contains(s.t, s.logs(job, "worker", 0), "user 1234 group 4321 in /proc/")
	before := s.identities(job)
	s.end(job, "worker", 0, 5)
	s.awaitLog(job, "worker", 0, "attempt 1")
	var last *corev1.ContainerStateTerminated // the kubelet tells it later than the log has it
	s.until("the kubelet tells how the container ended", func() bool {
		last = s.pods(job)["worker-0"].Status.ContainerStatuses[0].LastTerminationState.Terminated
		return last != nil
	})
	require.Equal(s.t, "last words of 0", last.Message)
	require.EqualValues(s.t, 5, last.ExitCode)
	s.end(job, "worker", 0, 0)
	done := s.awaitPhase("restricted", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	require.Equal(s.t, before, s.identities(job))
}

// firstProcess collects processes whose parents have ended, and hands on the signal that ends the pod. The code saves its state, and its
// exit code is the container's.
func firstProcess(s *space) {
	job := s.submit("first", `{restartStrategy: InPlace, replicaSpecs: [{type: worker, template: `+inPlace("orphan then pause 1 then zombies then obey 7")+`}]}`)
	s.awaitLog(job, "worker", 0, "zombies 0")
	pod := s.pods(job)["worker-0"]
	pid := processOf(&pod, "/genericjob.d/state/wrapper")
	require.NotZero(s.t, pid, "the wrapper is process 1")
	patch := client.MergeFrom(pod.DeepCopy())
	pod.Finalizers = append(pod.Finalizers, "genericjob.test/look")
	require.NoError(s.t, s.Patch(s.ctx, &pod, patch))
	require.NoError(s.t, s.Delete(s.ctx, &pod))
	key := client.ObjectKeyFromObject(&pod)
	s.until("the pod has ended", func() bool {
		require.NoError(s.t, s.Get(s.ctx, key, &pod))
		return pod.Status.ContainerStatuses[0].State.Terminated != nil
	})
	require.EqualValues(s.t, 7, pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	patch = client.MergeFrom(pod.DeepCopy())
	pod.Finalizers = nil
	require.NoError(s.t, s.Patch(s.ctx, &pod, patch))
	s.await("first", "the pod is replaced", func(j *v1beta1.GenericJob) bool { return j.Status.DisruptionCount == 1 && j.Status.Running == "1/1" })
	s.end(job, "worker", 0, 0)
	require.Zero(s.t, s.awaitPhase("first", v1beta1.JobSucceeded).Status.BackoffCount)
}

// standardInput comes through to the code.
func standardInput(s *space) {
	template := strings.Replace(inPlace("echo then obey"), `"args"`, `"stdin": true, "args"`, 1)
	job := s.submit("input", `{restartStrategy: InPlace, replicaSpecs: [{type: worker, template: `+template+`}]}`)
	s.awaitRunning("input", "1/1")
	attach := exec.CommandContext(s.ctx, kubectl, "--namespace", s.ns, "attach", "--stdin", spec.PodName(job, "worker", 0))
	attach.Stdin = strings.NewReader("a line\n")
	require.NoError(s.t, attach.Start())
	s.awaitLog(job, "worker", 0, "read: a line")
	_ = attach.Process.Kill()
	_ = attach.Wait()
	s.end(job, "worker", 0, 0)
	s.awaitPhase("input", v1beta1.JobSucceeded)
}
