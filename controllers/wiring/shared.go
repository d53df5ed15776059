package wiring

import (
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/metrics"
)

// Shared is what the controllers of one process share.
type Shared struct {
	Manager ctrl.Manager
	// Concurrency is how many jobs each controller reconciles at once.
	Concurrency int
	// Clock tells the time.
	Clock clock.PassiveClock
	// Counts counts what happens.
	Counts *metrics.Counts
	// Live reads from the apiserver.
	Live   client.Reader
	budget compact.Budget
}

// New returns what controllers share that work for a manager.
func New(mgr ctrl.Manager, concurrency int, c clock.PassiveClock, counts *metrics.Counts) *Shared {
	return &Shared{Manager: mgr, Concurrency: concurrency, Clock: c, Counts: counts, Live: compact.Live(mgr.GetAPIReader())}
}

// Client returns a client that reads from the manager's cache and writes to the apiserver.
func (s *Shared) Client() client.Client { return compact.Client(s.Manager.GetClient()) }

// Recorder returns what emits the operator's events.
func (s *Shared) Recorder() events.EventRecorder { return s.Manager.GetEventRecorder("genericjob") }

// The delay after a reconcile that failed grows from firstRetry to lastRetry. An apiserver that is back after an hour must not be waited
// for another quarter of one.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = time.Minute
)

// Options returns those of each controller.
func (s *Shared) Options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: s.Concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstRetry, lastRetry),
	}
}

// Around returns a reconciler that has memory for what it opens, and ends well with the operator.
func (s *Shared) Around(r reconcile.Reconciler) reconcile.Reconciler {
	return s.budget.Around(calls.GracefulShutdown{Reconciler: r})
}

// LogNaming returns what makes the logger of a reconcile: it names kind and job in each line, also in those of controller-runtime.
func (s *Shared) LogNaming(kind string) func(*ctrl.Request) logr.Logger {
	base := s.Manager.GetLogger().WithValues("kind", kind)
	return func(req *ctrl.Request) logr.Logger {
		if req == nil {
			return base
		}
		return base.WithValues("job", req.String())
	}
}
