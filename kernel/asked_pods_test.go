package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Who may create pods could have the operator call on a node. By a bare pod in the node's network, with the job as its controller and an
// order, it called the node's port 10193.
func TestOnlyPodsOfReplicasInTheNetworkOfPodsAreAsked(t *testing.T) {
	for name, forge := range map[string]func(*corev1.Pod){
		"in the node's network":              func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"of the node's address":              func(p *corev1.Pod) { p.Status.HostIP = p.Status.PodIP },
		"of an address of the node's":        func(p *corev1.Pod) { p.Status.HostIPs = []corev1.HostIP{{IP: "192.0.2.9"}, {IP: p.Status.PodIP}} },
		"without an address":                 func(p *corev1.Pod) { p.Status.PodIP = "" },
		"of another name":                    func(p *corev1.Pod) { p.Name = "bare" },
		"of a rank that the job has not":     func(p *corev1.Pod) { p.Name, p.Labels[v1beta1.LabelReplicaRank] = p.Name[:len(p.Name)-1]+"7", "7" },
		"of a type that the job has not":     func(p *corev1.Pod) { p.Labels[v1beta1.LabelReplicaType] = "other" },
		"of another job of the same name":    func(p *corev1.Pod) { p.OwnerReferences[0].UID = "another" },
		"whose rank is not that of its name": func(p *corev1.Pod) { p.Labels[v1beta1.LabelReplicaRank] = "0" },
	} {
		t.Run(name, func(t *testing.T) {
			job, w := atBarrier(t)
			require.Len(t, barrier.Awaited(job, w.Pods), 2)
			pod := w.Pods[1].DeepCopy()
			forge(pod)
			require.Equal(t, w.Pods[:1], barrier.Awaited(job, []*corev1.Pod{w.Pods[0], pod}))
			require.Equal(t, podstate.Address(pod), podstate.Address(podstate.Trim(pod.DeepCopy())), "a cache knows it, too")
		})
	}
}

func TestPodsOfRanksThatAreKeptAreAsked(t *testing.T) {
	job, w := atBarrier(t)
	job = kt.Edited(job, kt.Replicas("worker", 1))
	require.Equal(t, w.Pods[:1], barrier.Awaited(job, w.Pods))
	failure(v1beta1.FinishRule{"worker": ranks(1)})(job)
	require.Equal(t, w.Pods, barrier.Awaited(job, w.Pods))
}

func TestABarePodIsNotAskedForProgress(t *testing.T) {
	job := workers(2, watched(tells))
	kt.Begun(job)
	pod := wrapped(job, 0, kt.Running, withIP)
	require.NotNil(t, kernel.ProgressPod(job, []*corev1.Pod{pod}, kt.At(time.Hour)))
	pod.Name = "bare"
	require.Nil(t, kernel.ProgressPod(job, []*corev1.Pod{pod}, kt.At(time.Hour)))
}

func TestAPodIsAskedAtThePortThatItsWrapperHas(t *testing.T) {
	job := workers(1, watched(tells))
	pod := wrapped(job, 0, kt.Running, withIP)
	require.Equal(t, inplace.Port, barrier.ReportPort(job, pod))
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: inplace.Port}}
	require.Equal(t, inplace.Port+1, barrier.ReportPort(job, pod), "the code listens at that")
	pod.Labels[v1beta1.LabelReplicaType] = "other"
	require.Equal(t, inplace.Port, barrier.ReportPort(job, pod), "no type of the job's")
}
