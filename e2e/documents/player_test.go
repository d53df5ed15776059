package documents

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/e2e/testenv/played"
)

// player plays scheduler and kubelet of one node: pods run at once, and until they are told to end or are deleted. It also serves
// their logs, a line each.
type player struct {
	*played.Kubelet
	logs *httptest.Server
	done chan struct{}

	mu sync.Mutex
	// ends are the namespaces whose pods end, with exit code 0.
	ends map[string]bool
}

func startPlayer(ctx context.Context) (*player, error) {
	p := &player{Kubelet: &played.Kubelet{Client: api, Node: "node", ExitCode: 143}, done: make(chan struct{}), ends: map[string]bool{}}
	p.logs = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "log of", r.URL.Path) }))
	host, text, err := net.SplitHostPort(p.logs.Listener.Addr().String())
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: p.Node}}
	if err := api.Create(ctx, node); err != nil {
		return nil, err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if err := api.Status().Update(ctx, node); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.done)
		p.Play(ctx, p.look)
	}()
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

// look takes a pod one step further.
func (p *player) look(ctx context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	ends := p.ends[pod.Namespace]
	p.mu.Unlock()
	if ends && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
		return p.End(ctx, pod, 0)
	}
	return p.Step(ctx, pod)
}
