package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/translators/definition"
)

// kinds are those of definitions: each is watched by a cache and a controller of its own, which come and go.
type kinds struct {
	mgr     ctrl.Manager
	options Options
	ctx     context.Context // ends with the operator

	mu      sync.Mutex
	running map[string]*running // by the name of the definition
	ended   sync.WaitGroup
}

// running is a kind that is watched.
type running struct {
	kind   schema.GroupVersionKind
	passes *Revised
	plain  *Framework // what its reconcilers have in common
	jobs   cache.Informer
	basis  string // what passes was made from
	stop   context.CancelFunc
}

// Start implements manager.Runnable: the operator ends when the controllers have.
func (k *kinds) Start(ctx context.Context) error {
	<-ctx.Done()
	k.ended.Wait()
	return nil
}

// serve has the jobs of a definition's kind reconciled by its revisions. Basis changes with these. It says whether the cache is filled.
func (k *kinds) serve(f *v1beta1.TrainingFramework, s definition.Schemas, basis string) (filled bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	is := k.running[f.Name]
	if is != nil && is.basis == basis {
		return is.jobs.HasSynced(), nil
	}
	if is == nil {
		if is, err = k.begin(f, s); err != nil {
			return false, fmt.Errorf("watch %s: %w", f.Spec.Kind.Kind, err)
		}
		k.running[f.Name] = is
	} else if err := is.serve(f, s); err != nil {
		return false, err
	}
	is.basis = basis
	return is.jobs.HasSynced(), nil
}

// defined is a kind of a definition, as the newest revision has it.
type defined struct {
	*Framework
	jobs cache.Informer
}

// known are the kinds of which all jobs are known, by name. One whose cache cannot be filled hides no other.
func (k *kinds) known() (list []defined) {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, is := range k.running {
		if is.jobs.HasSynced() {
			list = append(list, defined{is.passes.now.Load().newest, is.jobs})
		}
	}
	slices.SortFunc(list, func(a, b defined) int { return strings.Compare(a.Kind.Kind, b.Kind.Kind) })
	return list
}

// end stops the controller of a definition's kind, and forgets what its cache holds. What it made stays.
func (k *kinds) end(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if is := k.running[name]; is != nil {
		is.stop()
		k.options.counts.End(is.kind)
		delete(k.running, name)
	}
}

// begin starts to watch a kind.
func (k *kinds) begin(f *v1beta1.TrainingFramework, s definition.Schemas) (*running, error) {
	is := &running{kind: definition.KindOf(&f.Spec), passes: &Revised{Cache: k.mgr.GetCache()}}
	jobs, err := k.cacheOf(is.kind)
	if err != nil {
		return nil, err
	}
	if is.plain, err = k.framework(is.kind, jobs); err != nil {
		return nil, err
	}
	if err := is.serve(f, s); err != nil {
		return nil, err
	}
	o := k.options.controller()
	o.SkipNameValidation, o.LogConstructor = ptr.To(true), logNaming(k.mgr.GetLogger(), is.kind.Kind) // a kind may come again
	o.Reconciler = k.options.room.Passes(calls.Orderly{Reconciler: is.passes})
	passes, err := controller.NewUnmanaged(metrics.ControllerOf(is.kind), o)
	if err != nil {
		return nil, err
	}
	for _, from := range []source.Source{
		source.Kind[client.Object](jobs, &definition.Job{}, &handler.EnqueueRequestForObject{}),
		&wake.Owners{Cache: k.mgr.GetCache(), Of: &v1beta1.GenericJob{}, Jobs: is.plain.sameName},
		&wake.Owners{Cache: k.mgr.GetCache(), Of: &corev1.ConfigMap{}, Jobs: is.owner},
	} {
		if err := passes.Watch(from); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(k.ctx)
	if is.jobs, err = jobs.GetInformer(ctx, &definition.Job{}, cache.BlockUntilSynced(false)); err != nil {
		stop()
		return nil, err
	}
	is.stop = stop
	k.options.counts.Begin(is.kind)
	k.run(ctx, f.Name, jobs.Start)
	k.run(ctx, f.Name, passes.Start)
	return is, nil
}

// serve has jobs compiled by all revisions of the definition.
func (r *running) serve(f *v1beta1.TrainingFramework, s definition.Schemas) error {
	list, err := revisionsOf(f, s, r.plain)
	if err == nil {
		r.passes.Serve(f.Name, list...)
	}
	return err
}

// run lets something go on until the context ends. If it ends by itself, for want of rights perhaps, the kind is begun anew when it
// is looked at again.
func (k *kinds) run(ctx context.Context, name string, f func(context.Context) error) {
	k.ended.Go(func() {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			k.mgr.GetLogger().Error(err, "jobs of a TrainingFramework cannot be watched", "trainingframework", name)
			k.end(name)
		}
	})
}

// cacheOf makes a cache of the jobs of a kind.
func (k *kinds) cacheOf(kind schema.GroupVersionKind) (cache.Cache, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	definition.AddToScheme(scheme, kind)
	options, err := CacheOptions()
	if err != nil {
		return nil, err
	}
	options.HTTPClient, options.Scheme, options.Mapper = k.mgr.GetHTTPClient(), scheme, k.mgr.GetRESTMapper()
	return cache.New(k.mgr.GetConfig(), options)
}

// framework is a reconciler of the kind's jobs that has no registration yet.
func (k *kinds) framework(kind schema.GroupVersionKind, jobs cache.Cache) (*Framework, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	definition.AddToScheme(scheme, kind)
	c, err := client.New(k.mgr.GetConfig(), client.Options{
		HTTPClient: k.mgr.GetHTTPClient(), Scheme: scheme, Mapper: k.mgr.GetRESTMapper(),
		Cache: &client.CacheOptions{Reader: twoCaches{Reader: k.mgr.GetCache(), jobs: jobs}},
	})
	if err != nil {
		return nil, err
	}
	f := &Framework{
		Client: compact.Client(c), Live: k.options.live, Recorder: k.mgr.GetEventRecorder("genericjob"),
		Clock: k.options.Clock, Kind: kind, Counts: k.options.counts,
	}
	f.New = func() client.Object { return &definition.Job{} }
	return f, nil
}

// twoCaches reads jobs of definitions from their own cache, and all else from the one that all share.
type twoCaches struct {
	client.Reader
	jobs client.Reader
}

// Get implements client.Reader.
func (t twoCaches) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, is := o.(*definition.Job); is {
		return t.jobs.Get(ctx, key, o, options...)
	}
	return t.Reader.Get(ctx, key, o, options...)
}

// owner is the job that controls an object.
func (r *running) owner(_ context.Context, o client.Object) []ctrl.Request {
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.Kind != r.kind.Kind || ref.APIVersion != r.kind.GroupVersion().String() {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
}
