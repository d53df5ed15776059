package definitions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// Kinds are those of definitions: each is watched by a cache and a controller of its own, which come and go.
type Kinds struct {
	*wiring.Shared
	ctx    context.Context // ends with the operator
	scheme func() (*runtime.Scheme, error)
	cache  func() (cache.Options, error)

	unserved func(schema.GroupVersionKind) // hears of each kind that is watched no more

	mu       sync.Mutex
	running  map[string]*servedKind // by the name of the definition
	fillings map[string]*filling    // of those whose cache is not filled, likewise; a kind that is begun anew keeps its own
	ended    sync.WaitGroup
}

// NewKinds returns no kinds yet. Scheme makes a scheme without them, and options those of a cache.
func NewKinds(ctx context.Context, s *wiring.Shared, scheme func() (*runtime.Scheme, error), options func() (cache.Options, error)) *Kinds {
	return &Kinds{Shared: s, ctx: ctx, scheme: scheme, cache: options, running: map[string]*servedKind{}, fillings: map[string]*filling{}}
}

// servedKind is a kind that is watched.
type servedKind struct {
	kind       schema.GroupVersionKind
	definition *v1beta1.TrainingFramework // its name and UID
	revised    *training.Revised
	base       *training.Reconciler // what the reconcilers of its revisions have in common
	jobs       cache.Informer
	builtFrom  string // what revised was made from
	stop       context.CancelFunc
}

// Start implements manager.Runnable: the operator ends when the controllers have.
func (k *Kinds) Start(ctx context.Context) error {
	<-ctx.Done()
	k.ended.Wait()
	return nil
}

// ensureServed has the jobs of a definition's kind reconciled by its revisions. BuiltFrom changes with these. It returns how the cache is filled; nil
// if it is.
func (k *Kinds) ensureServed(d *v1beta1.TrainingFramework, s definition.Schemas, builtFrom string) (*filling, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	served := k.running[d.Name]
	if served != nil {
		served.definition = named(d) // it may have been made again
	}
	if served != nil && served.builtFrom == builtFrom {
		return k.unfilled(d.Name), nil
	}
	if served == nil {
		var err error
		for name, other := range k.running { // the definition that it follows is not looked at yet
			if other.kind.Kind == d.Spec.Kind.Kind {
				k.endLocked(name)
			}
		}
		if served, err = k.begin(d, s); err != nil {
			return nil, fmt.Errorf("watch %s: %w", d.Spec.Kind.Kind, err)
		}
		k.running[d.Name] = served
	} else if err := served.useRevisions(d, s); err != nil {
		return nil, err
	}
	served.builtFrom = builtFrom
	return k.unfilled(d.Name), nil
}

// unfilled returns how the cache of a kind that runs is filled; nil if it is.
func (k *Kinds) unfilled(name string) *filling {
	if k.running[name].jobs.HasSynced() {
		delete(k.fillings, name)
	}
	return k.fillings[name]
}

// Kind is a kind of a definition, as the newest revision has it.
type Kind struct {
	schema.GroupVersionKind
	framework.Registration
	// Jobs has all of its jobs.
	Jobs cache.Informer
}

// Known returns the kinds of which all jobs are known, by name. One whose cache cannot be filled hides no other.
func (k *Kinds) Known() (list []Kind) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, served := range k.running {
		if served.jobs.HasSynced() {
			list = append(list, Kind{served.kind, served.revised.Newest(), served.jobs})
		}
	}
	slices.SortFunc(list, func(a, b Kind) int { return strings.Compare(a.Kind, b.Kind) })
	return list
}

// end stops the controller of a definition's kind, and forgets what its cache holds. What it made stays. The kind that ran is returned.
func (k *Kinds) end(name string) *servedKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.fillings, name)
	return k.endLocked(name)
}

// endReplaced ends the kind of an earlier definition of the same name if d is of another kind, and returns the kind that ran. A definition may be
// deleted and made again between two reconciles.
func (k *Kinds) endReplaced(d *v1beta1.TrainingFramework) *servedKind {
	k.mu.Lock()
	defer k.mu.Unlock()
	if served := k.running[d.Name]; served == nil || served.kind == definition.KindOf(&d.Spec) {
		return nil
	}
	delete(k.fillings, d.Name)
	return k.endLocked(d.Name)
}

// endLocked is end, with mu held.
func (k *Kinds) endLocked(name string) *servedKind {
	served := k.running[name]
	if served != nil {
		served.stop()
		k.Counts.RemoveKind(served.kind)
		delete(k.running, name)
		k.unserved(served.kind)
	}
	return served
}

// begin starts to watch a kind.
func (k *Kinds) begin(d *v1beta1.TrainingFramework, s definition.Schemas) (*servedKind, error) {
	served := &servedKind{kind: definition.KindOf(&d.Spec), definition: named(d), revised: &training.Revised{Cache: k.Manager.GetCache()}}
	if k.fillings[d.Name] == nil {
		k.fillings[d.Name] = &filling{clock: k.Clock, since: k.Clock.Now()}
	}
	jobs, err := k.cacheOf(served.kind, k.fillings[d.Name])
	if err != nil {
		return nil, err
	}
	if served.base, err = k.newJobReconciler(served.kind, jobs); err != nil {
		return nil, err
	}
	served.base.Definition = d.Name
	if err := served.useRevisions(d, s); err != nil {
		return nil, err
	}
	o := k.Options()
	o.SkipNameValidation, o.LogConstructor = ptr.To(true), k.LogNaming(served.kind.Kind) // a kind may come again
	o.Reconciler = k.Around(served.revised)
	jobController, err := controller.NewUnmanaged(metrics.ControllerOf(served.kind), o)
	if err != nil {
		return nil, err
	}
	for _, from := range []source.Source{
		source.Kind[client.Object](jobs, &definition.Job{}, &handler.EnqueueRequestForObject{}),
		&wake.Owners{Cache: k.Manager.GetCache(), Of: &v1beta1.GenericJob{}, Jobs: served.base.SameName},
		&wake.Owners{Cache: k.Manager.GetCache(), Of: &corev1.ConfigMap{}, Jobs: served.owner},
	} {
		if err := jobController.Watch(from); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(k.ctx)
	if served.jobs, err = jobs.GetInformer(ctx, &definition.Job{}, cache.BlockUntilSynced(false)); err != nil {
		stop()
		return nil, err
	}
	served.stop = stop
	k.Counts.AddKind(served.kind)
	k.run(ctx, d.Name, jobs.Start)
	k.run(ctx, d.Name, jobController.Start)
	return served, nil
}

// useRevisions has jobs compiled by all revisions of the definition.
func (s *servedKind) useRevisions(d *v1beta1.TrainingFramework, schemas definition.Schemas) error {
	list, err := revisionsOf(d, schemas, s.base)
	if err == nil {
		s.revised.Serve(d.Name, list...)
	}
	return err
}

// run watches until the context ends. If watch ends by itself, for want of rights perhaps, the kind is begun anew when it
// is looked at again.
func (k *Kinds) run(ctx context.Context, name string, watch func(context.Context) error) {
	k.ended.Go(func() {
		err := watch(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err != nil && ctx.Err() == nil { // or the name is another kind's by now
			k.Manager.GetLogger().Error(err, "jobs of a TrainingFramework cannot be watched", "trainingframework", name)
			k.endLocked(name)
		}
	})
}

// cacheOf returns a cache of the jobs of a kind.
func (k *Kinds) cacheOf(kind schema.GroupVersionKind, fills *filling) (cache.Cache, error) {
	scheme, err := k.scheme()
	if err != nil {
		return nil, err
	}
	definition.AddToScheme(scheme, kind)
	options, err := k.cache()
	if err != nil {
		return nil, err
	}
	options.DefaultWatchErrorHandler = fills.note
	options.HTTPClient, options.Scheme, options.Mapper = k.Manager.GetHTTPClient(), scheme, k.Manager.GetRESTMapper()
	return cache.New(k.Manager.GetConfig(), options)
}

// newJobReconciler returns a reconciler of the kind's jobs that has no registration yet.
func (k *Kinds) newJobReconciler(kind schema.GroupVersionKind, jobs cache.Cache) (*training.Reconciler, error) {
	scheme, err := k.scheme()
	if err != nil {
		return nil, err
	}
	definition.AddToScheme(scheme, kind)
	c, err := client.New(k.Manager.GetConfig(), client.Options{
		HTTPClient: k.Manager.GetHTTPClient(), Scheme: scheme, Mapper: k.Manager.GetRESTMapper(),
		Cache: &client.CacheOptions{Reader: twoCaches{Reader: k.Manager.GetCache(), jobs: jobs}},
	})
	if err != nil {
		return nil, err
	}
	jobReconciler := &training.Reconciler{
		Client: compact.Client(c), Live: k.Live, Recorder: k.Recorder(), Clock: k.Clock, Kind: kind, Counts: k.Counts, Memory: &training.Memory{},
	}
	jobReconciler.New = func() client.Object { return &definition.Job{} }
	return jobReconciler, nil
}

// twoCaches reads jobs of definitions from their own cache, and all else from the one that all share.
type twoCaches struct {
	client.Reader
	jobs client.Reader
}

// Get implements client.Reader.
func (t twoCaches) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if _, ok := o.(*definition.Job); ok {
		return t.jobs.Get(ctx, key, o, options...)
	}
	return t.Reader.Get(ctx, key, o, options...)
}

// owner returns the job that controls an object.
func (s *servedKind) owner(_ context.Context, o client.Object) []ctrl.Request {
	ref := metav1.GetControllerOf(o)
	if ref == nil || ref.Kind != s.kind.Kind || ref.APIVersion != s.kind.GroupVersion().String() {
		return nil
	}
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}}}
}
