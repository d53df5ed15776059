package faults_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// kubelet plays scheduler and kubelet, and the outsiders who delete and evict pods, for all jobs of a namespace. What it
// does to a pod is done under the pod's resourceVersion, so that it is certain what came first.
type kubelet struct {
	client client.Client
	ns     string
	dice   *dice
	truth  *truth
	past   *history
}

const workers = 8

// run looks at all pods, again and again, until the context ends.
func (k *kubelet) run(ctx context.Context) {
	for ctx.Err() == nil {
		list := &corev1.PodList{}
		if k.client.List(ctx, list, client.InNamespace(k.ns)) == nil {
			k.past.note(list.ResourceVersion)
			k.sync(ctx, list.Items)
		}
		sleep(ctx, 150*time.Millisecond)
	}
}

func (k *kubelet) sync(ctx context.Context, pods []corev1.Pod) {
	queue := make(chan *corev1.Pod)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for pod := range queue {
				k.look(ctx, pod)
			}
		})
	}
	for i := range pods {
		queue <- &pods[i]
	}
	close(queue)
	wg.Wait()
}

// look does what is due for one pod. Errors are conflicts: the next round looks again.
func (k *kubelet) look(ctx context.Context, pod *corev1.Pod) {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	replica := k.truth.of(pod)
	if replica == nil {
		return
	}
	ghost := replica.isGhost(pod)
	switch {
	case pod.DeletionTimestamp != nil:
		k.remove(ctx, pod, over)
	case over:
		if k.dice.of(3, "drain", pod.UID) == 0 && k.delete(ctx, pod, nil) == nil {
			replica.drained()
		}
	case pod.Status.Phase == corev1.PodRunning && ghost:
	case pod.Status.Phase == corev1.PodRunning:
		if time.Since(pod.Status.StartTime.Time) > k.life(pod) {
			k.finish(ctx, pod, replica)
		}
	case pod.Spec.NodeName == "" && !ghost && replica.nextDisruption() == byPending:
		if k.delete(ctx, pod, nil) == nil {
			replica.disrupted()
		}
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: "node"}}
		_ = k.client.SubResource("binding").Create(ctx, pod, binding)
	default:
		if k.set(ctx, pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}) == nil && !ghost {
			replica.started(pod)
		}
	}
}

// life is how long a pod runs.
func (k *kubelet) life(pod *corev1.Pod) time.Duration {
	return time.Duration(k.dice.of(1500, "life", pod.UID)) * time.Millisecond
}

// remove ends a pod that is being deleted.
func (k *kubelet) remove(ctx context.Context, pod *corev1.Pod, over bool) {
	if !over && pod.Status.Phase == corev1.PodRunning && k.end(ctx, pod, 143) != nil {
		return
	}
	zero := int64(0)
	if pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > 0 || len(pod.Finalizers) == 0 {
		_ = k.delete(ctx, pod, &zero)
	}
}

// finish has outsiders end a running pod, or its own code.
func (k *kubelet) finish(ctx context.Context, pod *corev1.Pod, replica *replica) {
	zero := int64(0)
	err := error(nil)
	switch replica.nextDisruption() {
	case byDelete, byPending:
		err = k.delete(ctx, pod, nil)
	case byForce:
		err = k.delete(ctx, pod, &zero)
	case byEvict:
		pod.Status.Reason, pod.Status.Message = "Evicted", "The node was low on resource: memory."
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet", LastTransitionTime: metav1.Now(),
		})
		err = k.set(ctx, pod, corev1.PodFailed, corev1.ContainerState{})
	default:
		if code := replica.nextCode(); code != forever && k.end(ctx, pod, code) == nil {
			replica.ended(pod)
		}
		return
	}
	if err == nil {
		replica.disrupted()
	}
}

func (k *kubelet) end(ctx context.Context, pod *corev1.Pod, code int32) error {
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	return k.set(ctx, pod, phase, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Reason: "Ended", FinishedAt: metav1.Now(),
	}})
}

// set writes a pod's status.
func (k *kubelet) set(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) error {
	if pod.Status.StartTime == nil {
		now := metav1.Now()
		pod.Status.StartTime = &now
	}
	pod.Status.Phase, pod.Status.ContainerStatuses = phase, nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: state})
	}
	return k.client.Status().Update(ctx, pod)
}

// delete deletes a pod as it was seen, with its own grace period or another.
func (k *kubelet) delete(ctx context.Context, pod *corev1.Pod, grace *int64) error {
	return k.client.Delete(ctx, pod, &client.DeleteOptions{
		GracePeriodSeconds: grace, Preconditions: &metav1.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion},
	})
}

// replicaOf is the replica that a pod is, as <type>-<rank>.
func replicaOf(pod *corev1.Pod) string {
	return fmt.Sprintf("%s-%s", pod.Labels[v1beta1.LabelReplicaType], pod.Labels[v1beta1.LabelReplicaRank])
}
