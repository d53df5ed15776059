// Package played plays what a cluster has beside its apiserver, and an apiserver of tests has not: the scheduler, kubelets, and the
// garbage collector.
package played

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kubelet plays the scheduler, and the kubelet of one node.
type Kubelet struct {
	Client    client.Client
	Namespace string // whose pods it sees; "" for all
	Node      string // that it binds pods to
	ExitCode  int32  // of code that runs when its pod is deleted
}

// atOnce bounds how many pods are looked at side by side.
const atOnce = 8

// Play looks at each pod, again and again, until the context ends. Another look repairs a look that came too late for its pod.
func (k *Kubelet) Play(ctx context.Context, look func(context.Context, *corev1.Pod) error) {
	for ctx.Err() == nil {
		var pods corev1.PodList
		if err := k.Client.List(ctx, &pods, client.InNamespace(k.Namespace)); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "played kubelet: list pods:", err)
		}
		var looks sync.WaitGroup
		free := make(chan struct{}, atOnce)
		for i := range pods.Items {
			pod := &pods.Items[i]
			free <- struct{}{}
			looks.Go(func() {
				defer func() { <-free }()
				err := look(ctx, pod)
				if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
					fmt.Fprintln(os.Stderr, "played kubelet: pod", pod.Name+":", err)
				}
			})
		}
		looks.Wait()
		wait(ctx, 100*time.Millisecond)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Step does what comes next for a pod: it is bound to the node, and runs. A deleted one ends, and is gone.
func (k *Kubelet) Step(ctx context.Context, pod *corev1.Pod) error {
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil:
		if !over && pod.Spec.NodeName != "" {
			if err := k.End(ctx, pod, k.ExitCode); err != nil {
				return err
			}
		}
		if *pod.DeletionGracePeriodSeconds == 0 {
			return nil // only a finalizer keeps it
		}
		return k.Delete(ctx, pod, client.GracePeriodSeconds(0))
	case over || pod.Status.Phase == corev1.PodRunning:
		return nil
	case pod.Spec.NodeName == "":
		binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: k.Node}}
		return k.Client.SubResource("binding").Create(ctx, pod, binding)
	}
	Run(pod)
	return k.Client.Status().Update(ctx, pod)
}

// End has the code of a pod end with an exit code, if nobody has changed the pod since.
func (k *Kubelet) End(ctx context.Context, pod *corev1.Pod, code int32) error {
	End(pod, code)
	return k.Client.Status().Update(ctx, pod)
}

// Delete deletes a pod, if nobody has changed it since.
func (k *Kubelet) Delete(ctx context.Context, pod *corev1.Pod, options ...client.DeleteOption) error {
	return k.Client.Delete(ctx, pod, append(options, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})...)
}

// Run changes a pod's status to that of one whose containers run.
func Run(pod *corev1.Pod) {
	now := metav1.Now()
	pod.Status.StartTime = &now
	become(pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}})
}

// End changes a pod's status to that of one whose containers have ended with an exit code.
func End(pod *corev1.Pod, code int32) {
	phase, end := corev1.PodSucceeded, &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Completed", FinishedAt: metav1.Now()}
	if code != 0 {
		phase, end.Reason = corev1.PodFailed, "Error"
	}
	become(pod, phase, corev1.ContainerState{Terminated: end})
}

func become(pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) {
	s, ready := &pod.Status, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
	if phase == corev1.PodRunning {
		ready.Status = corev1.ConditionTrue
	}
	s.Conditions = append(slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool { return c.Type == ready.Type }), ready)
	s.Phase, s.ContainerStatuses = phase, nil
	for _, c := range pod.Spec.Containers {
		s.ContainerStatuses = append(s.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, ImageID: c.Image, Ready: phase == corev1.PodRunning, State: state,
		})
	}
}
