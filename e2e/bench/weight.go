package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hostileNamespace is whose tenant wants the operator to run out of memory.
const hostileNamespace = "hostile"

// victims is how many small jobs somebody else runs meanwhile.
const victims = 20

// weight is a row in which one tenant has stored the largest objects that he may when the operator starts. His quota has no
// room for a pod, so that the operator has to try again and again. Somebody else's small jobs are timed meanwhile.
func (b *bench) weight(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx, "kubeflow")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	k, err := p.namespace(ctx, "victim")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	idle, err := b.whileItRuns(ctx, p, k, worst{})
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := p.storeWorst(ctx, worstObjects[r.name], r.jobs, r.name == "weight-pod"); err != nil {
		return nil, err
	}
	report("  %s: stored after %s", r.name, time.Since(start))
	out, err = b.whileItRuns(ctx, p, k, worstObjects[r.name])
	if err != nil {
		return nil, err
	}
	out["held_mb"] -= idle["held_mb"]
	out["held_ratio"] = out["held_mb"] / out["stored_mb"]
	out["idle_victim_s"], out["idle_peak_mb"] = idle["victim_s"], idle["peak_mb"]
	out["above_mb"] = out["peak_mb"] - idle["peak_mb"]
	return out, nil
}

// whileItRuns starts the operator, times the victims' jobs, and compares what the apiserver has with what the operator holds.
func (b *bench) whileItRuns(ctx context.Context, p *plane, k *kubelet, of worst) (out sample, err error) {
	start := time.Now()
	o, err := b.startOperator(ctx, p, "-kubeflow", "-pprof-bind-address="+profileAddress)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := o.stop(); err != nil { // the apiserver answers slowly under this load, and calls are given up in the end
			report("  the manager ended with: %v", err)
		}
	}()
	synced := time.Since(start)
	out, err = p.serveVictims(ctx, k, fmt.Sprint("victim-", b.starts))
	if err != nil {
		return nil, err
	}
	stored, err := p.stored(ctx, of.paths)
	if err != nil {
		return nil, err
	}
	held, err := o.atRest(ctx)
	if err != nil {
		return nil, err
	}
	u, err := o.usage()
	out["sync_s"], out["stored_mb"], out["held_mb"], out["peak_mb"] = synced.Seconds(), stored, held, u.peak
	return out, err
}

// stored is how many MiB the apiserver has at some paths.
func (p *plane) stored(ctx context.Context, paths []string) (float64, error) {
	bytes := 0
	for _, path := range paths {
		text, err := p.pods.RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			return 0, err
		}
		bytes += len(text)
	}
	return float64(bytes) / (1 << 20), nil
}

// storeWorst makes n objects in the hostile namespace, of which no job gets a pod.
func (p *plane) storeWorst(ctx context.Context, of worst, n int, pods bool) error {
	if err := p.jobs.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: hostileNamespace}}); err != nil {
		return err
	}
	if !pods {
		if err := p.forbidPods(ctx); err != nil {
			return err
		}
	}
	for i := range n {
		if err := p.jobs.Create(ctx, of.make(i)); err != nil {
			return err
		}
	}
	return nil
}

// forbidPods sets a quota that is full, and waits until it is enforced.
func (p *plane) forbidPods(ctx context.Context) error {
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	if err := p.jobs.Create(ctx, quota); err != nil {
		return err
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	if err := p.jobs.Status().Update(ctx, quota); err != nil {
		return err
	}
	for {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: "probe"}, Spec: template.Spec}
		if err := p.jobs.Create(ctx, pod, client.DryRunAll); apierrors.IsForbidden(err) {
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// serveVictims creates small jobs one after the other, and measures how long each waits for its pod.
func (p *plane) serveVictims(ctx context.Context, k *kubelet, name string) (sample, error) {
	k.mu.Lock()
	before := k.created
	k.mu.Unlock()
	var seconds []float64
	for i := range victims {
		job := newJob(fmt.Sprintf("%s-%d", name, i), 1)
		job.Namespace = k.ns
		start := time.Now()
		if err := p.jobs.Create(ctx, job); err != nil {
			return nil, err
		}
		if _, err := k.wait(ctx, "a victim's job has its pod", func(s seen) bool { return s.created > before+i }); err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
	return sample{"victim_s": median(seconds), "victim_max_s": slices.Max(seconds)}, nil
}

// atRest is the least of some looks at the heap, in MiB: what is held without what passes have open at the moment.
func (o *operator) atRest(ctx context.Context) (float64, error) {
	least := math.Inf(1)
	for range 10 {
		now, err := o.heap(ctx)
		if err != nil {
			return 0, err
		}
		least = min(least, now)
		if err := pause(ctx, time.Second); err != nil {
			return 0, err
		}
	}
	return least, nil
}

var heapAlloc = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)

// heap is what of the manager's memory is in use after a collection of garbage, in MiB.
func (o *operator) heap(ctx context.Context) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+profileAddress+"/debug/pprof/heap?gc=1&debug=1", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the manager for its heap: %w", err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	m := heapAlloc.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("the manager's profile of its heap names no HeapAlloc: %s", response.Status)
	}
	n, err := strconv.ParseFloat(string(m[1]), 64)
	return n / (1 << 20), err
}
