package controllers

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// NewScheme returns the scheme that the operator works with.
func NewScheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1beta1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// CacheOptions make the cache hold what the kernel reads and no more: pods and Services that carry a job's UID, trimmed.
func CacheOptions() (cache.Options, error) {
	ours, err := labels.NewRequirement(v1beta1.LabelJobUID, selection.Exists, nil)
	if err != nil {
		return cache.Options{}, err
	}
	selector := labels.NewSelector().Add(*ours)
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:     {Label: selector, Transform: trimPod},
			&corev1.Service{}: {Label: selector},
		},
	}, nil
}

func trimPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		return kernel.Trim(pod), nil
	}
	return o, nil
}

// Options are what an installation may set.
type Options struct {
	// Concurrency is the number of jobs that are worked on at once. Default 10: a pass mostly waits for the apiserver.
	Concurrency int
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// Clock tells the time. Default: the machine's.
	Clock clock.PassiveClock
}

// The delay after a pass that failed grows from firstRetry to lastRetry: an apiserver that is back after an hour must not
// be waited for another quarter of one.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Minute
)

// SetUp registers the controllers with a manager, whose cache must be made with CacheOptions.
func SetUp(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if o.Concurrency == 0 {
		o.Concurrency = 10
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	for _, kind := range []client.Object{&corev1.Pod{}, &corev1.Service{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, kind, indexJob, jobOf); err != nil {
			return fmt.Errorf("index %T by job: %w", kind, err)
		}
	}
	r := &GenericJob{
		Client:   mgr.GetClient(),
		Live:     mgr.GetAPIReader(),
		Recorder: mgr.GetEventRecorder("genericjob"),
		Clock:    o.Clock,
		Settings: o.Settings,
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1beta1.GenericJob{}).
		Owns(&corev1.Pod{}).
		Owns(&corev1.Service{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.Concurrency,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}
