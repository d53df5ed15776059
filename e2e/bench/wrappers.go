package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/genericjob/genericjob/apis/inplace"
)

// wrappers plays the wrappers of a namespace's pods. Each pod has an address of its own on the loopback interface, so that it is known
// who is asked.
type wrappers struct {
	api    kubernetes.Interface
	ns     string
	door   net.Listener
	cancel context.CancelFunc

	mu        sync.Mutex
	addresses map[string]string    // by the names of pods
	pods      map[string]*wrapped  // by address
	uids      map[types.UID]string // names of all pods that ever were
	telling
	failure error
}

// wrapped is a pod as its wrapper knows it.
type wrapped struct {
	uid   types.UID
	order inplace.Order
	exits int
}

// telling is how far the operator has come with telling pods of the second attempt, and to go on in it.
type telling struct {
	told, goes                           int
	firstTold, lastTold, firstGo, lastGo time.Time
}

func startWrappers(ctx context.Context, p *plane, ns string) (*wrappers, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &wrappers{api: p.pods, ns: ns, cancel: cancel, addresses: map[string]string{}, pods: map[string]*wrapped{}, uids: map[types.UID]string{}}
	var err error
	if w.door, err = net.Listen("tcp", fmt.Sprintf(":%d", inplace.Port)); err != nil {
		cancel()
		return nil, fmt.Errorf("play the wrappers: %w", err)
	}
	go w.answer()
	factory := informers.NewSharedInformerFactoryWithOptions(p.pods, 0, informers.WithNamespace(ns), informers.WithTransform(keepOrder))
	informer := factory.Core().V1().Pods().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.see(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { w.see(o.(*corev1.Pod)) },
	})
	if err == nil {
		factory.Start(ctx.Done())
	}
	return w, err
}

func (w *wrappers) stop() {
	w.cancel()
	_ = w.door.Close()
}

// keepOrder trims a pod to what a wrapper knows of it.
func keepOrder(o any) (any, error) {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return o, nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Annotations: map[string]string{inplace.Annotation: pod.Annotations[inplace.Annotation]},
	}}, nil
}

// address is that of a pod, by its name.
func (w *wrappers) address(pod string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addressOf(pod)
}

func (w *wrappers) addressOf(pod string) string {
	if _, has := w.addresses[pod]; !has {
		n := len(w.addresses) + 1
		w.addresses[pod] = fmt.Sprintf("127.100.%d.%d", n/250, 1+n%250)
	}
	return w.addresses[pod]
}

// see is what a kubelet does with the volume of a pod, at once.
func (w *wrappers) see(pod *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	address := w.addressOf(pod.Name)
	if w.pods[address] == nil || w.pods[address].uid != pod.UID {
		w.pods[address] = &wrapped{uid: pod.UID}
	}
	w.uids[pod.UID] = pod.Name
	have := w.pods[address]
	order, err := inplace.Parse(pod.Annotations[inplace.Annotation])
	if err != nil {
		w.failure = err
		return
	}
	if order.Attempt > 0 && have.order.Attempt == 0 {
		w.count(&w.told, &w.firstTold, &w.lastTold)
	}
	if order.Go > 0 && have.order.Go == 0 {
		w.count(&w.goes, &w.firstGo, &w.lastGo)
	}
	have.order = order
}

func (w *wrappers) count(n *int, first, last *time.Time) {
	*last = time.Now()
	if *n == 0 {
		*first = *last
	}
	*n++
}

// answer sends reports to who asks.
func (w *wrappers) answer() {
	for {
		c, err := w.door.Accept()
		if err != nil {
			return // the row is over
		}
		host, _, _ := net.SplitHostPort(c.LocalAddr().String())
		w.mu.Lock()
		if pod := w.pods[host]; pod != nil {
			_ = json.NewEncoder(c).Encode(inplace.Report{Pod: string(pod.uid), Attempt: pod.order.Attempt, Exits: pod.exits})
		}
		w.mu.Unlock()
		_ = c.Close()
	}
}

// failOne has the code of one pod fail, and its container run again.
func (w *wrappers) failOne(ctx context.Context) error {
	w.mu.Lock()
	var name, address string
	for name, address = range w.addresses {
		break
	}
	w.pods[address].exits++
	uid := w.pods[address].uid
	w.mu.Unlock()
	return startAgain(ctx, w.api, metav1.ObjectMeta{Namespace: w.ns, Name: name, UID: uid})
}

// startAgain writes what a kubelet does of a pod whose container has failed and runs again.
func startAgain(ctx context.Context, api kubernetes.Interface, of metav1.ObjectMeta) error {
	now := metav1.Now()
	last := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: now, FinishedAt: now}}
	return patchStatus(ctx, api, &corev1.Pod{ObjectMeta: of, Status: corev1.PodStatus{
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Image: "i", ImageID: "i", Ready: true, RestartCount: 1, LastTerminationState: last,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}})
}

// seen is how many pods there ever were.
func (w *wrappers) seen() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.uids)
}

// wait waits until all pods were told to go on.
func (w *wrappers) wait(ctx context.Context, pods int) (telling, error) {
	for {
		w.mu.Lock()
		t, failure := w.telling, w.failure
		w.mu.Unlock()
		if failure != nil || t.goes >= pods {
			return t, failure
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return t, fmt.Errorf("waited until all are told to go on: %d were told of the attempt, %d to go on: %w", t.told, t.goes, err)
		}
	}
}
