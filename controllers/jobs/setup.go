package jobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/kueue"
)

// Options are what an installation may set for GenericJobs.
type Options struct {
	// Settings are handed to the kernel.
	Settings kernel.Settings
	// Namespaces are those whose jobs are served. Default: all.
	Namespaces []string
	// BadNodes says what speaks against nodes beside what each job has seen.
	BadNodes badnodes.Options
	// EventsForPods are the kinds of owners that have an event for each pod and Service.
	EventsForPods map[schema.GroupVersionKind]bool
	// Serves reports whether the kind of a training job is served: if not, nobody else tells of its phases.
	Serves func(*metav1.OwnerReference) bool
}

// SetUp registers the controller of GenericJobs.
func SetUp(ctx context.Context, s *wiring.Shared, o Options) error {
	mgr := s.Manager
	if err := indexByJob(ctx, mgr, &corev1.Service{}); err != nil {
		return err
	}
	pods, err := podsInCache(ctx, mgr)
	if err != nil {
		return err
	}
	workloads, err := workloadSource(mgr, o.Namespaces)
	if err != nil {
		return err
	}
	version, err := versionOf(mgr)
	if err != nil {
		return err
	}
	asks, nodes := newQuestions(s.Clock), badnodes.NewStore(o.BadNodes)
	c := Reconciler{
		Client: s.Client(), Live: s.Live, Recorder: s.Recorder(),
		Clock: s.Clock, Settings: o.Settings, Version: version, Counts: s.Counts,
		BadNodes: nodes, pods: pods, workloads: workloads, questions: asks, eventsForPods: o.EventsForPods, serves: o.Serves,
	}.Controller()
	b := ctrl.NewControllerManagedBy(mgr).
		For(&v1beta1.GenericJob{}, builder.WithPredicates(c.Jobs)).
		Watches(&corev1.Pod{}, c.Pods).
		Owns(&corev1.Service{}).
		WatchesRawSource(workloads).
		WatchesRawSource(asks).
		WithOptions(s.Options()).
		WithLogConstructor(s.LogNaming(v1beta1.KindGenericJob))
	if len(o.BadNodes.Conditions) > 0 {
		b.Watches(&corev1.Node{}, nodes.Nodes())
	}
	if err := b.Complete(s.Around(c.Reconciler)); err != nil {
		return fmt.Errorf("set up GenericJob: %w", err)
	}
	return nil
}

// workloadSource leads from Workloads of Kueue's in these namespaces to reconciles.
func workloadSource(mgr ctrl.Manager, namespaces []string) (*wake.Workloads, error) {
	kueueClient, err := metadata.NewForConfig(mgr.GetConfig())
	if err != nil {
		return nil, fmt.Errorf("make a client for Workloads: %w", err)
	}
	return &wake.Workloads{
		Client:     kueueClient,
		Kind:       schema.FromAPIVersionAndKind(kueue.Version, "").GroupVersion().WithResource("workloads"),
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

// Controller is a GenericJob reconciler and what leads to its reconciles, beside the events of Services, or puts them off.
type Controller struct {
	// Reconciler makes the reconciles.
	Reconciler reconcile.Reconciler
	// Jobs has to see each event of a GenericJob. This predicate lets all of them pass.
	Jobs predicate.Predicate
	// Pods leads from the events of pods to reconciles over their jobs.
	Pods handler.EventHandler
}

// Controller returns what SetUp hands to controller-runtime, and a simulation to a queue of its own. The reconciler is a copy of r
// whose client notes what it writes.
func (r Reconciler) Controller() Controller {
	writes := wake.NewOwnWrites(r.Clock)
	r.Client = writes.Of(r.Client)
	r.memory, r.limiter = &remember.Jobs[remembered]{}, &calls.Limiter{}
	r.rules, r.nodes, r.nodeAnswers = &calls.RestartRules{Version: r.Version}, &nodeCount{}, &nodeAnswers{}
	if r.questions == nil {
		r.questions = newQuestions(r.Clock)
	}
	if r.workloads == nil {
		r.workloads = &wake.Workloads{} // which watches nothing
	}
	r.pushSlots = make(chan struct{}, maxPushes)
	return Controller{Reconciler: writes.Before(&r), Jobs: r.BadNodes.SeeJobs(writes.SeeJobs()), Pods: wake.PodEvents(writes)}
}
