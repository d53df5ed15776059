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

// hostileNamespace is whose tenant wants the operator to run out of memory. His quota has no room for a pod, so that the operator has to
// try again and again. In podsNamespace he may have pods.
const (
	hostileNamespace = "hostile"
	podsNamespace    = "hostile-pods"
)

const (
	// victims is how many small jobs somebody else runs meanwhile, and victimsTime for how long they are begun. Each waits for its pod for
	// victimPatience at most.
	victims        = 20
	victimsTime    = 40 * time.Second
	victimPatience = 20 * time.Second
	// attackPatience bounds a row.
	attackPatience = 5 * time.Minute
)

// target is an operator that is attacked, and its cluster.
type target struct {
	plane *plane
	doors doors
}

// weight is a row in which one tenant, or a stranger, wants the operator to run out of memory. The cluster has many pods of others. What
// is stored is there when the operator starts. Somebody else's small jobs are timed meanwhile.
func (b *bench) weight(ctx context.Context, r row) (sample, error) {
	c, err := b.crowded(ctx)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	out, err := b.attacked(ctx, c, partsOf(r.name))
	if err != nil {
		return nil, err
	}
	out["row_s"] = time.Since(start).Seconds()
	return beyond(c.idle, out), nil
}

// beyond adds to what was measured of an operator that was attacked how much that is above one that was not.
func beyond(idle, out sample) sample {
	out["held_mb"] -= idle["held_mb"]
	if out["stored_mb"] > 0 {
		out["held_ratio"] = out["held_mb"] / out["stored_mb"]
	}
	out["idle_victim_s"], out["idle_mb"] = idle["victim_s"], idle["resident_mb"]
	out["above_mb"] = out["peak_mb"] - idle["resident_mb"]
	return out
}

// attacked measures an operator in a copy of the crowd's cluster, where somebody has stored and does these things.
func (b *bench) attacked(ctx context.Context, c *crowd, parts []worst) (out sample, err error) {
	ctx, cancel := context.WithTimeout(ctx, attackPatience)
	defer cancel()
	p, stop, err := c.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	k, err := p.namespace(ctx, "victim")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	if err := errors.Join(p.grant(ctx, "rbac/metrics_roles.yaml"), p.makeNamespaces(ctx)); err != nil {
		return nil, err
	}
	start, paths := time.Now(), []string(nil)
	for _, of := range parts {
		paths = append(paths, of.paths...)
		if err := p.storeWorst(ctx, of); err != nil {
			return nil, err
		}
	}
	logf("  stored after %s", time.Since(start))
	doors, err := freeDoors()
	if err != nil {
		return nil, err
	}
	out, err = b.whileItRuns(ctx, &target{p, doors}, k, parts)
	if err != nil {
		return nil, err
	}
	out["stored_mb"], err = p.stored(ctx, paths)
	return out, err
}

// whileItRuns starts the operator and what is done to it, and times the victims' jobs.
func (b *bench) whileItRuns(ctx context.Context, a *target, k *kubelet, parts []worst) (out sample, err error) {
	start := time.Now()
	o, err := b.startOperator(ctx, a.plane, "-kubeflow", "-pprof-bind-address="+profileAddress, "-wrapper-image=localhost/wrapper:none",
		"-metrics-bind-address="+a.doors.metrics, "-health-probe-bind-address="+a.doors.probes)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := o.stop(); err != nil { // the apiserver answers slowly under this load, and calls are given up in the end
			logf("  the manager ended with: %v", err)
		}
	}()
	synced := time.Since(start)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, of := range parts {
		if of.live == nil {
			continue
		}
		if err := of.live(ctx, a); err != nil {
			return nil, err
		}
	}
	if out, err = a.plane.serveVictims(ctx, k); err != nil {
		return nil, err
	}
	if out["held_mb"], err = o.atRest(ctx); err != nil {
		return nil, err
	}
	u, err := o.usage()
	out["sync_s"], out["peak_mb"], out["resident_mb"] = synced.Seconds(), u.peak, u.now
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

// storing is how many calls store at once: the apiserver takes a second or more for each of the largest jobs.
const storing = 4

// storeWorst makes what one part of an attack is of.
func (p *plane) storeWorst(ctx context.Context, of worst) error {
	return inParallelBy(ctx, storing, of.count, func(i int) error {
		o := of.make(i)
		if err := p.jobs.Create(ctx, o); err != nil {
			return fmt.Errorf("store %T %d: %w", o, i, err)
		}
		if of.beside == nil {
			return nil
		}
		for _, more := range of.beside(o) {
			if err := p.jobs.Create(ctx, more); err != nil {
				return fmt.Errorf("store %T beside %d: %w", more, i, err)
			}
		}
		return nil
	})
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

// serveVictims creates small jobs one after the other, and measures how long each waits for its pod. One that waits for too long is the
// last.
func (p *plane) serveVictims(ctx context.Context, k *kubelet) (sample, error) {
	var seconds []float64
	for begun := time.Now(); len(seconds) < victims && time.Since(begun) < victimsTime; {
		job := newJob(fmt.Sprint("victim-", len(seconds)), 1)
		job.Namespace = k.ns
		start := time.Now()
		if err := p.jobs.Create(ctx, job); err != nil {
			return nil, err
		}
		served, err := k.serves(ctx, len(seconds)+1)
		if err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
		if !served {
			break
		}
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return sample{"victims": float64(len(seconds)), "victim_s": median(slices.Clone(seconds)), "victim_max_s": slices.Max(seconds)}, nil
}

// serves reports whether so many victims have a pod before their patience is over.
func (k *kubelet) serves(ctx context.Context, pods int) (bool, error) {
	patient, cancel := context.WithTimeout(ctx, victimPatience)
	defer cancel()
	_, err := k.wait(patient, "a victim's job has its pod", func(s seen) bool { return s.created >= pods })
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return err == nil, err
}

// atRest is the least of some looks at the heap, in MiB: what is held without what reconciles have open at the moment.
func (o *operator) atRest(ctx context.Context) (float64, error) {
	least := math.Inf(1)
	for range 5 {
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
