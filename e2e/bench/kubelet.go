package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv/played"
)

// writers is how many calls are under way at once, for the raw limit and for each kubelet.
const writers = 16

// kubelet plays the kubelets of one namespace: pods are moved to Running as they appear, and end when it is told so. It
// counts what it sees.
type kubelet struct {
	api    kubernetes.Interface
	ns     string
	moves  chan move
	cancel context.CancelFunc
	// address is where a pod is, by its name; nil has all in the same place.
	address func(pod string) string

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod // trimmed
	idle bool                      // pods stay as they were created, as if no node had room
	seen
}

// seen is what has been seen of the pods so far.
type seen struct {
	created, running, succeeded, deleted int
	// unreleased is the number of pods that carry the operator's finalizer.
	unreleased int
	// when each count last grew
	lastCreated, lastRunning, lastSucceeded time.Time
	failure                                 error
}

type move struct {
	pod  *corev1.Pod
	to   corev1.PodPhase
	code int32
}

// maxMoves bounds the moves that wait. It is above what any row has pods.
const maxMoves = 1 << 17

func startKubelet(ctx context.Context, api kubernetes.Interface, ns string) (*kubelet, error) {
	ctx, cancel := context.WithCancel(ctx)
	k := &kubelet{api: api, ns: ns, moves: make(chan move, maxMoves), cancel: cancel, pods: map[types.UID]*corev1.Pod{}}
	for range writers {
		go k.work(ctx)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(ns), informers.WithTransform(keep))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { k.see(nil, o.(*corev1.Pod)) },
		UpdateFunc: func(old, o any) { k.see(old.(*corev1.Pod), o.(*corev1.Pod)) },
		DeleteFunc: k.gone,
	})
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		cancel()
		return nil, fmt.Errorf("watch the pods of namespace %s: %w", ns, ctx.Err())
	}
	return k, nil
}

// keep trims a pod to what the kubelet looks at.
func keep(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion, Finalizers: pod.Finalizers,
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: pod.Spec.Containers[0].Name, Image: pod.Spec.Containers[0].Image}}},
		Status: corev1.PodStatus{Phase: pod.Status.Phase},
	}, nil
}

func tracked(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking) }

func (k *kubelet) see(old, pod *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods[pod.UID] = pod
	before := corev1.PodPhase("")
	if old == nil {
		k.created, k.lastCreated = k.created+1, time.Now()
		if !k.idle {
			k.moves <- move{pod: pod, to: corev1.PodRunning}
		}
		if tracked(pod) {
			k.unreleased++
		}
	} else {
		before = old.Status.Phase
		if tracked(old) && !tracked(pod) {
			k.unreleased--
		}
	}
	if phase := pod.Status.Phase; phase != before {
		switch phase {
		case corev1.PodRunning:
			k.running, k.lastRunning = k.running+1, time.Now()
		case corev1.PodSucceeded:
			k.succeeded, k.lastSucceeded = k.succeeded+1, time.Now()
		default:
		}
	}
}

func (k *kubelet) gone(o any) {
	if last, unknown := o.(cache.DeletedFinalStateUnknown); unknown {
		o = last.Obj
	}
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, pod.UID)
	k.deleted++
	if tracked(pod) {
		k.unreleased--
	}
}

// finish moves all pods that there are to Succeeded.
func (k *kubelet) finish() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range k.pods {
		k.moves <- move{pod: pod, to: corev1.PodSucceeded}
	}
}

// failOne makes one pod exit with code 1.
func (k *kubelet) failOne() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, pod := range k.pods {
		k.moves <- move{pod: pod, to: corev1.PodFailed, code: 1}
		return
	}
}

func (k *kubelet) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-k.moves:
			if err := k.carryOut(ctx, m); err != nil && ctx.Err() == nil {
				k.mu.Lock()
				k.failure = errors.Join(k.failure, err)
				k.mu.Unlock()
			}
		}
	}
}

func (k *kubelet) carryOut(ctx context.Context, m move) error {
	pod := m.pod.DeepCopy()
	if m.to == corev1.PodRunning {
		played.Run(pod)
	} else {
		played.End(pod, m.code)
	}
	pod.Status.PodIP = "10.0.0.1"
	if k.address != nil {
		pod.Status.PodIP = k.address(pod.Name)
	}
	err := patchStatus(ctx, k.api, pod)
	if apierrors.IsNotFound(err) || apierrors.IsInvalid(err) {
		return nil // another pod has taken its name, or none has
	}
	return err
}

// patchStatus writes what a pod's status has, whoever has changed the pod since.
func patchStatus(ctx context.Context, api kubernetes.Interface, pod *corev1.Pod) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": pod.Status})
	if err != nil {
		return err
	}
	_, err = api.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// wait waits until what has been seen is as wanted, and returns it.
func (k *kubelet) wait(ctx context.Context, what string, is func(seen) bool) (seen, error) {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	progress := time.Now()
	for {
		k.mu.Lock()
		s := k.seen
		k.mu.Unlock()
		switch {
		case s.failure != nil:
			return s, s.failure
		case is(s):
			return s, nil
		}
		if time.Since(progress) > 10*time.Second {
			progress = time.Now()
			logf("  waiting until %s: %d created, %d Running, %d Succeeded, %d deleted, %d unreleased", what, s.created, s.running, s.succeeded, s.deleted, s.unreleased)
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("waited until %s, and saw %d created, %d Running, %d Succeeded, %d deleted, %d unreleased: %w",
				what, s.created, s.running, s.succeeded, s.deleted, s.unreleased, ctx.Err())
		case <-tick.C:
		}
	}
}
