package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

const (
	traceback = "Traceback (most recent call last):\n  File \"/train.py\", line 41, in main\n    raise ValueError(\"loss is nan\")\nValueError: loss is nan\n"
	parted    = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411\n"
)

// night returns a job of eight replicas whose status the kernel itself has made. It has an exception that others follow from, a drain, a pause, a
// second failure by memory, and success.
func night(t *testing.T) *Input {
	s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 8, kerneltest.Policy(v1beta1.RestartOnFailure, 3), kerneltest.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	})), kerneltest.JobScope, kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Progress = &v1beta1.ProgressFormat{Preset: v1beta1.PresetTorchTitan}
	})))
	for i := range 8 {
		s.Cluster.NodeNames = append(s.Cluster.NodeNames, fmt.Sprintf("node-%d", i))
	}
	s.Kubelet(4 * time.Minute)
	s.Then(50*time.Minute, "worker-3 fails, and others lose their peer", func() {
		ends(s, 3, 1, traceback)
		for _, rank := range []int{0, 1, 2, 4} {
			ends(s, rank, 1, parted)
		}
	}).Kubelet(20 * time.Second).Kubelet(3 * time.Minute)
	s.Then(35*time.Minute, "the node of worker-5 is drained", func() { s.Cluster.Delete(spec.PodName(s.Cluster.Job, "worker", 5)) })
	s.Kubelet(30 * time.Second).Kubelet(8 * time.Minute)
	s.Edit(20*time.Minute, "pauses it", kerneltest.PauseNow(true)).Kubelet(20*time.Second).Edit(15*time.Minute, "resumes it", kerneltest.PauseNow(false)).Kubelet(2 * time.Minute)
	s.Then(25*time.Minute, "worker-6 has too little memory", func() {
		ends(s, 6, 137, "")
		name := spec.PodName(s.Cluster.Job, "worker", 6)
		s.Cluster.Pods[name].Status.ContainerStatuses[0].State.Terminated.Reason = "OOMKilled"
	}).Kubelet(20 * time.Second).Kubelet(3 * time.Minute)
	s.Then(40*time.Minute, "all succeed", func() {
		for rank := range 8 {
			s.Cluster.Exit(spec.PodName(s.Cluster.Job, "worker", rank), 0)
		}
	}).Then(3*time.Second, "time passes", func() {})
	s.Cluster.Job.Status.Progress = &v1beta1.Progress{Step: new(int64(1990)), Loss: "2.1408", Time: metav1.NewTime(s.Cluster.Now)}
	in := inputOf(s)
	in.History = s.Cluster.Job.Status.History
	in.Events = []corev1.Event{{Type: "Warning", Reason: v1beta1.ReasonRestarted, Message: "Pod[job-worker-6] failed with exit code 137 (SIGKILL), OOMKilled", Count: 1,
		LastTimestamp: metav1.NewTime(kerneltest.At(160 * time.Minute))}}
	in.Steps = trained(t)
	return in
}

// ends has a replica exit with last words.
func ends(s *kerneltest.Story, rank int, code int32, words string) {
	name := spec.PodName(s.Cluster.Job, "worker", rank)
	s.Cluster.Exit(name, code)
	ended := s.Cluster.Pods[name].Status.ContainerStatuses[0].State.Terminated
	ended.Message, ended.Reason = words, "Error"
}

// inputOf returns what is known of the job of a story.
func inputOf(s *kerneltest.Story) *Input {
	var pods []corev1.Pod
	for _, pod := range s.Cluster.Pods {
		pods = append(pods, *pod)
	}
	kind := jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
	return &Input{Family: jobs.NewFamily(kind, s.Cluster.Job, s.Cluster.Job, pods), Now: s.Cluster.Now}
}

// trained returns what the log of worker-0 tells of the last two runs: the second goes on from a checkpoint.
func trained(t *testing.T) *Steps {
	t.Helper()
	steps := &Steps{Replica: "worker-0"}
	var log strings.Builder
	write := func(from time.Duration, first, last int) {
		for step := first; step <= last; step += 10 {
			at := kerneltest.At(from + time.Duration(step-first)*2*time.Second)
			fmt.Fprintf(&log, "%s [rank0]:step: %2d  loss: %.4f  memory: 42.5GiB\n", at.Format(time.RFC3339Nano), step, 2+9/(1+float64(step)/90)+0.2*float64(step%70)/70)
		}
	}
	write(139*time.Minute, 10, 700)
	write(168*time.Minute, 610, 1790)
	require.NoError(t, steps.Add(strings.NewReader(log.String()), spec.Progress(&v1beta1.GenericJobSpec{Progress: &v1beta1.ProgressFormat{Preset: v1beta1.PresetTorchTitan}})))
	return steps
}
