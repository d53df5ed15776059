package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// mistaken are manifests of jobs of two pods whose image has a typing error until IMAGE is another.
var mistaken = map[string]string{
	"genericjob": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, spec: {service: {}, replicaSpecs: [
		{type: worker, replicas: 2, restartPolicy: {policy: OnFailure, limit: 3}, template: {spec: {containers: [{name: main, image: IMAGE}]}}}]}}`,
	"in-place": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, spec: {restartStrategy: InPlace, restartScope: Job, replicaSpecs: [
		{type: worker, replicas: 2, restartPolicy: {policy: OnFailure, limit: 3}, template: {spec: {containers: [{name: main, image: IMAGE, command: [train]}]}}}]}}`,
	"tensorflow": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: TensorFlowTrainingJob, spec: {replicaSpecs: [
		{type: worker, replicas: 2, template: {spec: {containers: [{name: tensorflow, image: IMAGE}]}}}]}}`,
	"pytorch": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: PyTorchTrainingJob, spec: {replicaSpecs: [
		{type: worker, replicas: 2, template: {spec: {containers: [{name: pytorch, image: IMAGE, command: [python, train.py]}]}}}]}}`,
	"kubeflow": `{apiVersion: kubeflow.org/v1, kind: PyTorchJob, spec: {pytorchReplicaSpecs: {
		Master: {template: {spec: {containers: [{name: pytorch, image: IMAGE}]}}}, Worker: {template: {spec: {containers: [{name: pytorch, image: IMAGE}]}}}}}}`,
}

// applied is what kubectl apply --server-side does with a manifest.
func (c *cluster) applied(name, manifest, image string) (*unstructured.Unstructured, error) {
	c.t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, "IMAGE", image)), &o.Object))
	o.SetNamespace(c.ns)
	o.SetName(name)
	return o, c.Apply(c.ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner("kubectl"))
}

func TestACorrectedManifestIsAppliedWithoutAPause(t *testing.T) {
	t.Parallel()
	for name, manifest := range mistaken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.be(func(k *kubelet) { k.idle = true })
			c.operate(operation{settings: kernel.Settings{WrapperImage: "wrapper"}})
			owner, err := c.applied(name, manifest, "pyhton")
			require.NoError(t, err)
			isUnstarted := func() bool {
				require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(owner), owner))
				hash, _, _ := unstructured.NestedString(owner.Object, "status", "unstartedSpec")
				return hash != ""
			}
			c.until("the job says that no code has started", func() bool { return isUnstarted() && len(c.pods(c.job(name))) == 2 })
			for _, pod := range c.pods(c.job(name)) {
				c.changeStatus(pod, func(s *corev1.PodStatus) {
					s.ContainerStatuses = []corev1.ContainerStatus{{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{
						Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"},
					}}}
				})
			}

			_, err = c.applied(name, manifest, "python")
			require.NoError(t, err)
			c.until("pods have the new image", func() bool { return c.allRunImage(name, "python") })
			c.be(func(k *kubelet) { k.idle = false })
			s := c.awaitPhase(name, v1beta1.JobRunning).Status
			require.Zero(t, s.BackoffCount+s.DisruptionCount+s.JobAttempt)
			require.EqualValues(t, 1, s.ModeGeneration)

			c.until("the job that its user sees says that code has started", func() bool { return !isUnstarted() })
			_, err = c.applied(name, manifest, "other")
			require.ErrorContains(t, err, "immutable unless the job is ") // paused, or suspended
			require.True(t, c.allRunImage(name, "python"))
		})
	}
}

// allRunImage reports whether a job has two pods, both of an image.
func (c *cluster) allRunImage(name, image string) bool {
	pods := c.pods(c.job(name))
	for _, pod := range pods {
		if pod.Spec.Containers[0].Image != image {
			return false
		}
	}
	return len(pods) == 2
}
