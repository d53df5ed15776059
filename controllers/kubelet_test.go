package controllers_test

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// kubelet plays the scheduler, the kubelet and the garbage collector of one namespace. It starts pods and stops those
// that are being deleted, unless it is told not to; how pods end is the test's to say, with finish.
type kubelet struct {
	client client.Client
	ns     string
	done   chan struct{}

	mu     sync.Mutex
	idle   bool   // pods are left alone
	node   string // that pods are bound to
	stuck  bool   // pods that are being deleted are left alone: their node is dead
	onStop int32  // the exit code of pods that are asked to go
	// script says with which code a running pod ends by itself, if it does.
	script func(*corev1.Pod) (code int32, ends bool)
	// ran lists the attempts of each pod that have been started, in order.
	ran map[string][]string
}

const node = "node-of-the-test"

func startKubelet(ctx context.Context, c client.Client, ns string) *kubelet {
	k := &kubelet{client: c, ns: ns, done: make(chan struct{}), node: node, onStop: 143, ran: map[string][]string{}}
	go func() {
		defer close(k.done)
		for ctx.Err() == nil {
			k.sync(ctx)
			k.collect(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return k
}

func (k *kubelet) wait() { <-k.done }

// be changes how the kubelet behaves from now on.
func (k *kubelet) be(change func(*kubelet)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

// sync looks at each pod once. Errors are conflicts, or come with the end of the test: the next round tries again.
func (k *kubelet) sync(ctx context.Context) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list := &corev1.PodList{}
	if k.idle || k.client.List(ctx, list, client.InNamespace(k.ns)) != nil {
		return
	}
	for i := range list.Items {
		pod := &list.Items[i]
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		switch {
		case pod.DeletionTimestamp != nil && !k.stuck:
			if !over && pod.Spec.NodeName != "" && k.end(ctx, pod, k.onStop) != nil {
				continue
			}
			_ = k.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
		case pod.DeletionTimestamp != nil || over:
		case pod.Status.Phase == corev1.PodRunning:
			k.act(ctx, pod)
		case pod.Spec.NodeName == "":
			_ = k.bind(ctx, pod)
		default:
			_ = k.run(ctx, pod)
		}
	}
}

func (k *kubelet) bind(ctx context.Context, pod *corev1.Pod) error {
	b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: k.node}}
	return k.client.SubResource("binding").Create(ctx, pod, b)
}

func (k *kubelet) run(ctx context.Context, pod *corev1.Pod) error {
	now := metav1.Now()
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &now
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	err := k.client.Status().Update(ctx, pod)
	if err == nil {
		k.ran[pod.Name] = append(k.ran[pod.Name], pod.Labels[v1beta1.LabelAttempt])
	}
	return err
}

func (k *kubelet) act(ctx context.Context, pod *corev1.Pod) {
	if k.script == nil {
		return
	}
	if code, ends := k.script(pod); ends {
		_ = k.end(ctx, pod, code)
	}
}

func (k *kubelet) end(ctx context.Context, pod *corev1.Pod, code int32) error {
	pod.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: "Error", FinishedAt: metav1.Now(),
			}},
		})
	}
	return k.client.Status().Update(ctx, pod)
}

// collect plays the garbage collector: it deletes what belongs to a job that is gone. As the real one, it does so by what it has seen,
// and therefore looks again, at the object and then at its owner, before it deletes; and then nothing that has changed since.
func (k *kubelet) collect(ctx context.Context) {
	in := client.InNamespace(k.ns)
	// What is owned is listed before the owners: whoever is missing then is truly gone.
	lists := []client.ObjectList{
		&corev1.PodList{}, &corev1.ServiceList{}, &corev1.ConfigMapList{}, &v1beta1.GenericJobList{}, &v1beta1.TensorFlowTrainingJobList{},
		&v1beta1.PyTorchTrainingJobList{},
	}
	alive := map[string]bool{}
	var owned []client.Object
	for _, list := range lists {
		if k.client.List(ctx, list, in) != nil {
			return
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			owned = append(owned, o.(client.Object))
			alive[string(o.(client.Object).GetUID())] = true
			return nil
		})
	}
	for _, o := range owned {
		owner := metav1.GetControllerOf(o)
		if owner != nil && owner.APIVersion == v1beta1.GroupVersion.String() && !alive[string(owner.UID)] && o.GetDeletionTimestamp() == nil {
			k.discard(ctx, o, owner.UID)
		}
	}
}

// discard deletes an object, if it is still the one that was seen, and still has the owner that is gone.
func (k *kubelet) discard(ctx context.Context, o client.Object, gone types.UID) {
	now := o.DeepCopyObject().(client.Object)
	if k.client.Get(ctx, client.ObjectKeyFromObject(o), now) != nil || now.GetUID() != o.GetUID() {
		return
	}
	if owner := metav1.GetControllerOf(now); owner != nil && owner.UID == gone {
		uid, version := now.GetUID(), now.GetResourceVersion()
		_ = k.client.Delete(ctx, now, client.Preconditions{UID: &uid, ResourceVersion: &version})
	}
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
		return c.end(c.ctx, &pod, code) == nil
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
