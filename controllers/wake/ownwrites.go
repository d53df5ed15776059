package wake

import (
	"context"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// OwnWrites delays reconciles that would look at a job before the caches show what the last reconcile has written. Such reconciles do no harm: the
// lock, the fence and the names of pods catch them. But they would ask the apiserver for hundreds of things that are done already. Correctness does
// not depend on this memory: a restart loses it, and it is believed for a moment only. What the caches have shown is forgotten.
type OwnWrites struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen [kinds]uint64                        // the highest resourceVersion that the cache has shown
	jobs map[types.NamespacedName]*lastWrites // of jobs that were written and not yet seen
}

// lastWrites are the highest resourceVersions of what was written for a job.
type lastWrites struct {
	versions [kinds]uint64
	at       time.Time
}

const (
	ofPod = iota
	ofJob
	kinds
)

const (
	// lookAtWrites is how often a reconcile looks again whether the cache shows the last writes. The cache mostly shows them within milliseconds.
	lookAtWrites = 10 * time.Millisecond
	// believeWrites is how long it does so. A write may never be shown: somebody may have taken its label away.
	believeWrites = time.Second
)

// NewOwnWrites returns a memory in which nothing has been written.
func NewOwnWrites(c clock.PassiveClock) *OwnWrites {
	return &OwnWrites{clock: c, jobs: map[types.NamespacedName]*lastWrites{}}
}

// version reads the resourceVersion of an object; 0 if it is not a number.
func version(o client.Object) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// see notes what the cache shows. Events of a kind come in the order of their resourceVersions. With several namespaces, each of which has a watch of
// its own, `seen` may run ahead: then a reconcile is merely not put off.
func (w *OwnWrites) see(kind int, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[kind] = max(w.seen[kind], version(o))
}

// wrote notes a write for a job.
func (w *OwnWrites) wrote(kind int, job types.NamespacedName, o client.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs[job] == nil {
		w.jobs[job] = &lastWrites{}
	}
	w.jobs[job].versions[kind] = max(w.jobs[job].versions[kind], version(o))
	w.jobs[job].at = w.clock.Now()
}

// unseen reports whether the cache does not show yet what was written for a job.
func (w *OwnWrites) unseen(job types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := w.jobs[job]
	if last == nil {
		return false
	}
	if w.clock.Now().Sub(last.at) < believeWrites {
		for kind, v := range last.versions {
			if v > w.seen[kind] {
				return true
			}
		}
	}
	delete(w.jobs, job)
	return false
}

// SeeJobs returns a predicate that lets every event of a job pass and notes what it shows.
func (w *OwnWrites) SeeJobs() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { w.see(ofJob, e.Object); return true },
		UpdateFunc: func(e event.UpdateEvent) bool { w.see(ofJob, e.ObjectNew); return true },
		DeleteFunc: func(e event.DeleteEvent) bool { w.see(ofJob, e.Object); return true },
	}
}

// Before returns a reconciler that puts a reconcile off while the cache does not show the last writes for its job.
func (w *OwnWrites) Before(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		if w.unseen(req.NamespacedName) {
			return ctrl.Result{RequeueAfter: lookAtWrites}, nil
		}
		return next.Reconcile(ctx, req)
	})
}

// Of returns a client that notes the writes that are made through it.
func (w *OwnWrites) Of(c client.Client) client.Client { return &notingClient{c, w} }

type notingClient struct {
	client.Client
	writes *OwnWrites
}

func (c *notingClient) note(o client.Object, err error) error {
	if err != nil {
		return err
	}
	switch o.(type) {
	case *corev1.Pod:
		for _, name := range JobOf(o) {
			c.writes.wrote(ofPod, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, o)
		}
	case *v1beta1.GenericJob:
		c.writes.wrote(ofJob, client.ObjectKeyFromObject(o), o)
	}
	return nil
}

// Create implements client.Client.
func (c *notingClient) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	return c.note(o, c.Client.Create(ctx, o, opts...))
}

// Patch implements client.Client.
func (c *notingClient) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	return c.note(o, c.Client.Patch(ctx, o, p, opts...))
}

// Status implements client.Client.
func (c *notingClient) Status() client.SubResourceWriter {
	return &notingStatus{c.Client.Status(), c}
}

type notingStatus struct {
	client.SubResourceWriter
	client *notingClient
}

// Update implements client.SubResourceWriter.
func (s *notingStatus) Update(ctx context.Context, o client.Object, opts ...client.SubResourceUpdateOption) error {
	return s.client.note(o, s.SubResourceWriter.Update(ctx, o, opts...))
}
