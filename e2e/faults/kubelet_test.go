package faults_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv/played"
)

// kubelet plays scheduler and kubelet, and the outsiders who delete and evict pods, for all jobs of a namespace. What it
// does to a pod is done under the pod's resourceVersion, so that it is certain what came first.
type kubelet struct {
	*played.Kubelet
	dice  *dice
	truth *truth
}

// look does what is due for one pod.
func (k *kubelet) look(ctx context.Context, pod *corev1.Pod) error {
	replica := k.truth.of(pod)
	if replica == nil {
		return nil
	}
	ghost, phase := replica.isGhost(pod), pod.Status.Phase
	switch {
	case pod.DeletionTimestamp != nil:
		return k.Step(ctx, pod)
	case phase == corev1.PodSucceeded || phase == corev1.PodFailed:
		if k.dice.of(3, "drain", pod.UID) == 0 {
			return then(k.Delete(ctx, pod), replica.drained)
		}
		return nil
	case phase == corev1.PodRunning:
		if ghost || time.Since(pod.Status.StartTime.Time) <= k.life(pod) {
			return nil
		}
		return k.finish(ctx, pod, replica)
	case pod.Spec.NodeName == "" && !ghost && replica.nextDisruption() == byPending:
		return then(k.Delete(ctx, pod), replica.disrupted)
	}
	err := k.Step(ctx, pod)
	if err == nil && pod.Status.Phase == corev1.PodRunning && !ghost {
		replica.started(pod)
	}
	return err
}

// then notes what has been done, if it has been.
func then(err error, note func()) error {
	if err == nil {
		note()
	}
	return err
}

// life is how long a pod runs.
func (k *kubelet) life(pod *corev1.Pod) time.Duration {
	return time.Duration(k.dice.of(1500, "life", pod.UID)) * time.Millisecond
}

// finish has outsiders end a running pod, or its own code.
func (k *kubelet) finish(ctx context.Context, pod *corev1.Pod, replica *replica) error {
	switch replica.nextDisruption() {
	case byDelete, byPending:
		return then(k.Delete(ctx, pod), replica.disrupted)
	case byForce:
		return then(k.Delete(ctx, pod, client.GracePeriodSeconds(0)), replica.disrupted)
	case byEvict:
		pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: memory."
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.Now(),
		})
		return then(k.End(ctx, pod, 137), replica.disrupted)
	}
	if code := replica.nextCode(); code != forever {
		return then(k.End(ctx, pod, code), func() { replica.ended(pod) })
	}
	return nil
}

// replicaOf is the replica that a pod is, as <type>-<rank>.
func replicaOf(pod *corev1.Pod) string {
	return fmt.Sprintf("%s-%s", pod.Labels[v1beta1.LabelReplicaType], pod.Labels[v1beta1.LabelReplicaRank])
}
