package controllers

import (
	"cmp"
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/definitions"
	"github.com/genericjob/genericjob/controllers/jobs"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/kernel"
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

// CacheOptions make the cache hold what the operator reads and no more. The operator reads jobs, and objects that carry a job's UID, made compact as
// they come in. They are of these namespaces, or of all if none is named.
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
	// Concurrency is the number of jobs that are worked on at once. Default DefaultConcurrency: a reconcile mostly waits for the apiserver.
	// All share one budget of calls. More workers improve fairness between large and small jobs, and add no load.
	Concurrency int
	// Frameworks are served beside GenericJob.
	Frameworks []framework.Registration
	// Definitions says that TrainingFrameworks are served, too: kinds that come and go. To serve them, the operator needs rights in the whole cluster.
	Definitions bool
	// Namespaces are those whose jobs are served. Default: all.
	Namespaces []string
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// BadNodes says what speaks against nodes beside what each job has seen. Default: nothing.
	BadNodes badnodes.Options
	// Clock tells the time. Default: the machine's.
	Clock clock.PassiveClock
	// Metrics is where what happens to jobs is told. Nil: nowhere.
	Metrics prometheus.Registerer
	// Build is what the metrics say that the operator was built from. Nothing is told without a version.
	Build metrics.Build
	// TimesByNamespace gives the metrics of time a label with the namespace of the jobs.
	TimesByNamespace bool
}

// SetUp registers the controllers with a manager, whose scheme and cache must be made with NewScheme and CacheOptions.
func SetUp(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	reader, err := newJobReader(ctx, mgr, o.Frameworks)
	if err != nil {
		return err
	}
	newCounts := metrics.New
	if o.TimesByNamespace {
		newCounts = metrics.NewByNamespace
	}
	s := wiring.New(mgr, cmp.Or(o.Concurrency, DefaultConcurrency), o.Clock, newCounts(reader.kinds...))
	err = jobs.SetUp(ctx, s, jobs.Options{
		Settings: o.Settings, Namespaces: o.Namespaces, BadNodes: o.BadNodes, EventsForPods: reader.kindsWithPodEvents(), Serves: reader.serves,
	})
	if err != nil {
		return err
	}
	for _, f := range o.Frameworks {
		if err := training.SetUp(s, f); err != nil {
			return err
		}
	}
	if o.Definitions {
		kinds := definitions.NewKinds(ctx, s, func() (*runtime.Scheme, error) { return NewScheme() }, func() (cache.Options, error) { return CacheOptions() })
		if err := definitions.SetUp(s, kinds, reader.names()); err != nil {
			return err
		}
		reader.hasDefinitions, reader.defined = true, kinds.Known
	}
	if o.Metrics == nil {
		return nil
	}
	return registerMetrics(o, reader, s.Counts)
}

// registerMetrics registers the metrics.
func registerMetrics(o Options, reader *jobReader, counts *metrics.Counts) error {
	all := []prometheus.Collector{counts, &metrics.JobCollector{Kinds: reader.names, Each: reader.each, Clock: o.Clock, Counts: counts}}
	if o.Build.Version != "" {
		all = append(all, o.Build.Collector())
	}
	if o.Definitions {
		all = append(all, &metrics.DefinitionCollector{Each: reader.eachDefinition})
	}
	for _, c := range all {
		if err := o.Metrics.Register(c); err != nil {
			return fmt.Errorf("register the metrics: %w", err)
		}
	}
	return nil
}
