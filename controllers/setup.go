package controllers

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/queue"
	"github.com/genericjob/genericjob/translators/framework"
)

// NewScheme returns the scheme that the operator works with to serve these frameworks.
func NewScheme(frameworks ...framework.Registration) (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	adds := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme, apiextensionsv1.AddToScheme}
	for _, f := range frameworks {
		adds = append(adds, f.AddToScheme)
	}
	for _, add := range adds {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// CacheOptions make the cache hold what the operator reads and no more: jobs, and objects that carry a job's UID, made compact
// as they come in; those of these namespaces, or of all if none is named.
func CacheOptions(namespaces ...string) (cache.Options, error) {
	ours, err := labels.NewRequirement(v1beta1.LabelJobUID, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	selector := labels.NewSelector().Add(*ours)
	var each map[string]cache.Config // nil is one cache of the cluster
	for _, namespace := range namespaces {
		if each == nil {
			each = map[string]cache.Config{}
		}
		each[namespace] = cache.Config{} // as for all
	}
	return cache.Options{
		DefaultNamespaces: each,
		DefaultTransform:  compact.Object,
		NewInformer:       compact.NewInformer,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                            {Label: selector},
			&corev1.Service{}:                        {Label: selector},
			&corev1.ConfigMap{}:                      {Label: selector},
			&appsv1.Deployment{}:                     {Label: selector},
			&autoscalingv2.HorizontalPodAutoscaler{}: {Label: selector},
		},
	}, nil
}

// DefaultConcurrency is the number of jobs that are worked on at once if nobody says another.
const DefaultConcurrency = 30

// Options are what an installation may set.
type Options struct {
	// Concurrency is the number of jobs that are worked on at once. Default DefaultConcurrency: a pass mostly waits for the apiserver. All passes
	// share the calls, so that more of them mean no more load, but that a small job finds its turn beside many large ones.
	Concurrency int
	// Frameworks are served beside GenericJob.
	Frameworks []framework.Registration
	// Definitions says that TrainingFrameworks are served, too: kinds that come and go. It needs rights in the whole cluster.
	Definitions bool
	// Namespaces are those whose jobs are served. Default: all.
	Namespaces []string
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// Clock tells the time. Default: the machine's.
	Clock clock.PassiveClock
	// Metrics is where what happens to jobs is told. Nil: nowhere.
	Metrics prometheus.Registerer
	// counts are what the passes of all kinds count.
	counts *metrics.Counts
	// kinds are those of definitions.
	kinds *kinds
	// room is what the passes of all kinds share.
	room *compact.Room
	// live is what they read from the apiserver by.
	live client.Reader
}

// The delay after a pass that failed grows from firstRetry to lastRetry: an apiserver that is back after an hour must not
// be waited for another quarter of one.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Minute
)

// SetUp registers the controllers with a manager, whose scheme and cache must be made with NewScheme and CacheOptions.
func SetUp(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := o.complete(ctx, mgr); err != nil {
		return err
	}
	if err := indexByJob(ctx, mgr, &corev1.Service{}); err != nil {
		return err
	}
	pods, err := podsInCache(ctx, mgr)
	if err != nil {
		return err
	}
	queues, err := workloads(mgr, o.Namespaces)
	if err != nil {
		return err
	}
	version, err := versionOf(mgr)
	if err != nil {
		return err
	}
	asks := newQuestions(o.Clock)
	passes := GenericJob{
		Client: compact.Client(mgr.GetClient()), Live: o.live, Recorder: mgr.GetEventRecorder("genericjob"),
		Clock: o.Clock, Settings: o.Settings, Version: version, Counts: o.counts,
		pods: pods, queues: queues, questions: asks, told: toldKinds(mgr.GetScheme(), o.Frameworks),
	}.Passes()
	err = ctrl.NewControllerManagedBy(mgr).
		For(&v1beta1.GenericJob{}, builder.WithPredicates(passes.Jobs)).
		Watches(&corev1.Pod{}, passes.Pods).
		Owns(&corev1.Service{}).
		WatchesRawSource(queues).
		WatchesRawSource(asks).
		WithOptions(o.controller()).
		WithLogConstructor(logNaming(mgr.GetLogger(), v1beta1.KindGenericJob)).
		Complete(o.room.Passes(calls.Orderly{Reconciler: passes.Reconciler}))
	if err != nil {
		return fmt.Errorf("set up GenericJob: %w", err)
	}
	for _, f := range o.Frameworks {
		if err := setUpFramework(mgr, f, o); err != nil {
			return err
		}
	}
	if o.Definitions {
		return setUpDefinitions(mgr, o)
	}
	return nil
}

// workloads leads from Workloads of Kueue's in these namespaces to passes.
func workloads(mgr ctrl.Manager, namespaces []string) (*wake.Workloads, error) {
	kueue, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("make a client for Workloads: %w", err)
	}
	return &wake.Workloads{
		Client:     kueue,
		Kind:       schema.FromAPIVersionAndKind(queue.Version, "").GroupVersion().WithResource("workloads"),
		Namespaces: namespaces,
	}, nil
}

// versionOf returns what asks the apiserver for its version.
func versionOf(mgr ctrl.Manager) (func(context.Context) (string, error), error) {
	server, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make a client that asks for the apiserver's version: %w", err)
	}
	return func(ctx context.Context) (string, error) {
		v, err := server.ServerVersionWithContext(ctx)
		if err != nil {
			return "", err
		}
		return v.GitVersion, nil
	}, nil
}

// complete sets defaults, and makes what the passes of all kinds share.
func (o *Options) complete(ctx context.Context, mgr ctrl.Manager) (err error) {
	if o.Concurrency == 0 {
		o.Concurrency = DefaultConcurrency
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	o.room, o.live = &compact.Room{}, compact.Live(mgr.GetAPIReader())
	if o.Definitions {
		o.kinds = &kinds{mgr: mgr, ctx: ctx, running: map[string]*running{}}
	}
	o.counts, err = o.count(ctx, mgr)
	return err
}

// Passes are a GenericJob reconciler and what leads to its passes, beside the events of Services, or puts them off.
type Passes struct {
	// Reconciler makes the passes.
	Reconciler reconcile.Reconciler
	// Jobs has to see each event of a GenericJob. It lets all of them pass.
	Jobs predicate.Predicate
	// Pods leads from the events of pods to passes over their jobs.
	Pods handler.EventHandler
}

// Passes returns what SetUp hands to controller-runtime, and a simulation to a queue of its own. The reconciler is a copy of r
// whose client notes what it writes.
func (r GenericJob) Passes() Passes {
	writes := wake.NewOwnWrites(r.Clock)
	r.Client = writes.Of(r.Client)
	r.refusals, r.crowd, r.arrived = calls.NewRefusals(), &calls.Crowd{}, &arrivals{}
	r.rules = &calls.RestartRules{Version: r.Version}
	r.strays = &strays{}
	r.couriers = make(chan struct{}, manyOrders)
	return Passes{writes.Before(&r), writes.SeeJobs(), wake.PodEvents(writes)}
}

func (o Options) controller() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: o.Concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry),
	}
}

func setUpFramework(mgr ctrl.Manager, f framework.Registration, o Options) error {
	kind, err := apiutil.GVKForObject(f.New(), mgr.GetScheme())
	if err != nil {
		return fmt.Errorf("set up a framework: its kind is not in the scheme that NewScheme made: %w", err)
	}
	if _, err := mgr.GetRESTMapper().RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("set up %s: the cluster does not know the kind; install its CRD first: %w", kind.Kind, err)
	}
	r := &Framework{
		Registration: f,
		Client:       compact.Client(mgr.GetClient()),
		Live:         o.live,
		Recorder:     mgr.GetEventRecorder("genericjob"),
		Clock:        o.Clock,
		Kind:         kind,
		Counts:       o.counts,
	}
	b := ctrl.NewControllerManagedBy(mgr).
		Named(metrics.ControllerOf(kind)).
		// A write of ours to the status is looked at again: it may show what an old cache knew of the GenericJob, and the
		// pass that knew better may have looked at the status before that write.
		For(f.New()).
		Watches(&v1beta1.GenericJob{}, handler.EnqueueRequestsFromMapFunc(r.sameName)).
		Owns(&corev1.ConfigMap{}).
		WithOptions(o.controller()).
		WithLogConstructor(logNaming(mgr.GetLogger(), kind.Kind))
	if f.MirrorTensorBoard != nil {
		b.Owns(&appsv1.Deployment{}).Owns(&corev1.Service{})
	}
	if f.Autoscales {
		b.Owns(&autoscalingv2.HorizontalPodAutoscaler{})
	}
	if err := b.Complete(o.room.Passes(calls.Orderly{Reconciler: r})); err != nil {
		return fmt.Errorf("set up %s: %w", kind.Kind, err)
	}
	return nil
}

// sameName maps a GenericJob to the framework job of the same name: the one that owns it, or that it is in the way of.
func (r *Framework) sameName(ctx context.Context, o client.Object) []ctrl.Request {
	key := client.ObjectKeyFromObject(o)
	if ref := metav1.GetControllerOf(o); ref == nil || ref.Kind != r.Kind.Kind {
		if err := r.Client.Get(ctx, key, r.New()); apierrors.IsNotFound(err) {
			return nil
		}
	}
	return []ctrl.Request{{NamespacedName: key}}
}
