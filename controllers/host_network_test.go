package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The port at which replicas listen is one of their node, so the scheduler never puts two of them on one.
func TestThePortAtWhichReplicasListenIsTheirNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	onHost := func(container string) corev1.PodTemplateSpec {
		template := onePodTemplate(container)
		template.Spec.HostNetwork = true
		return template
	}
	tensorFlow := &v1beta1.TensorFlowTrainingJob{Spec: v1beta1.TensorFlowTrainingJobSpec{
		ReplicaSpecs: []v1beta1.TensorFlowReplicaSpec{{Type: v1beta1.TensorFlowWorker, Replicas: new(int32(2)), Template: onHost("tensorflow")}},
	}}
	pyTorch := &v1beta1.PyTorchTrainingJob{Spec: v1beta1.PyTorchTrainingJobSpec{
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{{Type: "master", Template: onHost("pytorch")}, {Type: "worker", Template: onHost("pytorch")}},
	}}
	tensorFlow.Name, pyTorch.Name = "tensorflow", "pytorch"
	tensorFlow.Namespace, pyTorch.Namespace = c.ns, c.ns
	require.NoError(t, c.Create(c.ctx, tensorFlow))
	require.NoError(t, c.Create(c.ctx, pyTorch))
	ports := map[string]int32{}
	for _, job := range []*v1beta1.GenericJob{c.awaitGenericJob(tensorFlow), c.awaitGenericJob(pyTorch)} {
		c.until("two pods", func() bool { return len(c.pods(job)) == 2 })
		for name, pod := range c.pods(job) {
			require.Equal(t, corev1.DNSClusterFirstWithHostNet, pod.Spec.DNSPolicy)
			for _, p := range pod.Spec.Containers[0].Ports {
				ports[job.Name+"/"+name] = p.HostPort
			}
		}
	}
	require.Equal(t, map[string]int32{"tensorflow/worker-0": 2222, "tensorflow/worker-1": 2222, "pytorch/master-0": 23456}, ports)
}
