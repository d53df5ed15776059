package documents

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// player plays scheduler and kubelet of one node: pods run at once, and until they are told to end or are deleted. It also serves
// their logs, a line each.
type player struct {
	logs *httptest.Server
	done chan struct{}

	mu sync.Mutex
	// ends are the namespaces whose pods end, with exit code 0.
	ends map[string]bool
}

const nodeName = "node"

func startPlayer(ctx context.Context) (*player, error) {
	p := &player{done: make(chan struct{}), ends: map[string]bool{}}
	p.logs = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "log of", r.URL.Path) }))
	host, text, err := net.SplitHostPort(p.logs.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
	if err := api.Create(ctx, node); err != nil {
		return nil, err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := api.Status().Update(ctx, node); err != nil {
		return nil, err
	}
	go p.play(ctx)
	return p, nil
}

// stop waits until nothing is played any more. The context has ended.
func (p *player) stop() error {
	<-p.done
	p.logs.Close()
	return nil
}

// end has the pods of a namespace end from now on, those that come later as well.
func (p *player) end(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[namespace] = true
}

func (p *player) play(ctx context.Context) {
	defer close(p.done)
	for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; {
		var pods corev1.PodList
		if err := api.List(ctx, &pods); err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "documents: list pods:", err)
		}
		for i := range pods.Items {
			err := p.move(ctx, &pods.Items[i])
			if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				fmt.Fprintln(os.Stderr, "documents: play pod", pods.Items[i].Name+":", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// move takes a pod one step further.
func (p *player) move(ctx context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	ends := p.ends[pod.Namespace]
	p.mu.Unlock()
	over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case pod.DeletionTimestamp != nil && !over && pod.Spec.NodeName != "":
		return p.become(ctx, pod, corev1.PodFailed, ended(143))
	case pod.DeletionTimestamp != nil:
		return api.Delete(ctx, pod, client.GracePeriodSeconds(0))
	case pod.Spec.NodeName == "":
		return api.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: nodeName}})
	case pod.Status.Phase == corev1.PodPending:
		return p.become(ctx, pod, corev1.PodRunning, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
	case ends && !over:
		return p.become(ctx, pod, corev1.PodSucceeded, ended(0))
	}
	return nil
}

func ended(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}}
}

func (p *player) become(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase, state corev1.ContainerState) error {
	pod.Status.Phase, pod.Status.ContainerStatuses = phase, nil
	running := phase == corev1.PodRunning
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: running, State: state})
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionStatus(map[bool]string{true: "True", false: "False"}[running])},
	}
	return api.Status().Update(ctx, pod)
}
