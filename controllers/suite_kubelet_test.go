package controllers_test

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv/played"
)

// kubelet plays the scheduler, the kubelet and the garbage collector of one namespace. It starts pods and stops those
// that are being deleted, unless it is told not to. The test says how pods end, with finish.
type kubelet struct {
	*played.Kubelet
	work sync.WaitGroup

	mu    sync.Mutex
	idle  bool // pods are left alone
	stuck bool // pods that are being deleted are left alone: their node is dead
	// script says with which code a running pod ends by itself; nil if none does.
	script func(*corev1.Pod) int32
	// ran lists the attempts of each pod that have been started, in order.
	ran map[string][]string
}

// collected are the kinds that jobs own, and then the kinds that own.
var collected = []schema.GroupVersionKind{
	corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Service"), corev1.SchemeGroupVersion.WithKind("ConfigMap"),
	v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob), v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob),
	v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob),
}

func startKubelet(ctx context.Context, c client.Client, ns string) *kubelet {
	k := &kubelet{Kubelet: &played.Kubelet{Client: c, Namespace: ns, Node: "node-of-the-test", ExitCode: 143}, ran: map[string][]string{}}
	k.work.Go(func() { k.Play(ctx, k.look) })
	k.work.Go(func() { played.Collect(ctx, c, ns, collected) })
	return k
}

// be changes how the kubelet behaves from now on.
func (k *kubelet) be(change func(*kubelet)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

func (k *kubelet) look(ctx context.Context, pod *corev1.Pod) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := pod.Status.Phase
	switch {
	case k.idle, k.stuck && pod.DeletionTimestamp != nil:
		return nil
	case k.script != nil && pod.DeletionTimestamp == nil && before == corev1.PodRunning:
		return k.End(ctx, pod, k.script(pod))
	}
	err := k.Step(ctx, pod)
	if err == nil && before == corev1.PodPending && pod.Status.Phase == corev1.PodRunning {
		k.ran[pod.Name] = append(k.ran[pod.Name], pod.Labels[v1beta1.LabelAttempt])
	}
	return err
}

// finish ends a running pod with an exit code.
func (c *cluster) finish(job *v1beta1.GenericJob, replica string, code int32) {
	c.t.Helper()
	c.until("pod "+replica+" ends", func() bool {
		pod, ok := c.pods(job)[replica]
		if !ok || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.End(c.ctx, &pod, code) == nil
	})
}

// finishAttempt ends the pod that a replica has in an attempt.
func (c *cluster) finishAttempt(job *v1beta1.GenericJob, replica, attempt string, code int32) {
	c.t.Helper()
	c.until("attempt "+attempt+" of "+replica, func() bool {
		return c.pods(job)[replica].Labels[v1beta1.LabelAttempt] == attempt
	})
	c.finish(job, replica, code)
}

// remove deletes a pod as a person would.
func (c *cluster) remove(pod corev1.Pod) {
	c.t.Helper()
	if err := c.Delete(c.ctx, &pod, client.Preconditions{UID: &pod.UID}); !apierrors.IsNotFound(err) && err != nil {
		c.t.Fatalf("delete pod %s: %v", pod.Name, err)
	}
}
