// Package controllers_test runs the operator, or single reconciles of it, beside a real apiserver. Each test has a namespace of its own, the cluster.
// A kubelet and a garbage collector that the test commands stand in for the rest.
//
// There are two ways to test. The first runs the whole operator, and waits for what comes of it:
//
//	c := newCluster(t)
//	c.operate(operation{})                 the operator, with its caches, until the test ends
//	job := c.submit("name", "replicaSpecs: ...")
//	c.finish(job, "worker-0", 1)           the kubelet ends a pod
//	c.awaitPhase("name", v1beta1.JobFailed)
//
// The second makes each reconcile itself, by a view that is as old as the test wants. TestFence is an example:
//
//	c := newStill(t)                       no operator, and a kubelet that does nothing
//	c.settle("name")                       reconciles with fresh views until one changes nothing
//	old := c.look("name")                  what a cache holds now; young: just after the job was created
//	pod := c.now(job, "worker-0", 0)       a pod ends at once, without the kubelet
//	c.unlock(pod)                          somebody strips its finalizers and deletes it
//	p := c.reconcile("name", old)          one reconcile that reads the view; p has its calls, events and error
//
// In both, c.be changes how the kubelet behaves, c.in is the cluster of a subtest, and c.until waits for anything. Files named suite_ hold the means.
//
// The tests, by the names of their files:
//
//	first                            the first reconcile of a job
//	stale                            reconciles with old views
//	restarts, rules, inplace, modes  what the kernel decides, on a real apiserver
//	refusals, training_refused       what the apiserver refuses
//	faults                           calls that fail, and operators that restart
//	users_mistakes                   specs and surroundings that cannot work
//	framework_                       training jobs
//	definitions_                     kinds that are written in YAML
//	kubeflow_, mpijob                Kubeflow's kinds
//	isolation, hostile, big          tenants that harm others, or try to
//	released, compiled_before        jobs of earlier releases and of other operators
package controllers_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// patience bounds every wait. No test depends on how fast anything is.
const patience = 10 * time.Minute

// served are all frameworks, those too that are off by default.
func served() []framework.Registration { return append(translators.All(), kubeflow.All("", true)...) }

// cluster is one namespace of the apiserver, with a kubelet and a garbage collector of its own that the test commands.
type cluster struct {
	client.WithWatch
	t   *testing.T
	ns  string
	ctx context.Context
	// operator is the configuration of the operators that work here.
	operator *rest.Config
	// began is when the test began. The test itself makes reconciles over training jobs, whose clock is later than began by ahead. So they show
	// the same, however slow the machine is.
	began time.Time
	ahead time.Duration
	*kubelet
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return clusterOf(t, apiserver, operator, metav1.ObjectMeta{GenerateName: "t-"})
}

// clusterOf is a new namespace of an apiserver that not all tests share.
func clusterOf(t *testing.T, admin, operator *rest.Config, namespace metav1.ObjectMeta) *cluster {
	t.Helper()
	scheme, err := controllers.NewScheme(served()...)
	require.NoError(t, err)
	c, err := client.NewWithWatch(admin, client.Options{Scheme: scheme})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ns := &corev1.Namespace{ObjectMeta: namespace}
	require.NoError(t, c.Create(ctx, ns))
	k := &cluster{WithWatch: c, t: t, ns: ns.Name, ctx: ctx, operator: operator, began: time.Now(), kubelet: startKubelet(ctx, c, ns.Name)}
	t.Cleanup(func() {
		cancel()
		k.work.Wait()
	})
	return k
}

// operation is how a test wants the operator to be run.
type operation struct {
	network  *network
	wrap     func(http.RoundTripper) http.RoundTripper // what stands before the apiserver
	settings kernel.Settings
	badNodes badnodes.Options
	log      logr.Logger
	clock    clock.PassiveClock // the operator's; nil is the machine's
	// tenant is who runs an operator of this namespace alone, with rights in it alone; "" for one of all.
	tenant  string
	metrics prometheus.Registerer
	// timesByNamespace has the metrics of time tell namespaces.
	timesByNamespace bool
	some             bool // namespaces are what the cache has, not all
	// definitions has TrainingFrameworks served. They are the whole cluster's: such a test runs alone.
	definitions bool
}

// operate runs the operator in this cluster until the returned function, or the test's end, stops it.
func (c *cluster) operate(o operation) (stop func()) {
	c.t.Helper()
	scheme, err := controllers.NewScheme(served()...)
	require.NoError(c.t, err)
	var namespaces []string
	cfg := rest.CopyConfig(c.operator)
	if o.tenant != "" {
		namespaces = []string{c.ns}
		cfg = rest.CopyConfig(apiserver)
		cfg.Impersonate.UserName = o.tenant
	}
	cacheOptions, err := controllers.CacheOptions(namespaces...)
	require.NoError(c.t, err)
	switch {
	case o.some:
		cacheOptions.DefaultNamespaces = map[string]cache.Config{c.ns: {}, "default": {}}
	case o.tenant == "":
		// One namespace is seen, by a cache of all: that is the cache that the operator has.
		cacheOptions.DefaultFieldSelector = fields.OneTermEqualSelector("metadata.namespace", c.ns)
		for _, ofNoNamespace := range []client.Object{&v1beta1.TrainingFramework{}, &apiextensionsv1.CustomResourceDefinition{}} {
			cacheOptions.ByObject[ofNoNamespace] = cache.ByObject{Field: fields.Everything()}
		}
	}
	if o.network != nil {
		cfg.Wrap(o.network.wrap)
	}
	if o.wrap != nil {
		cfg.Wrap(o.wrap)
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme, Cache: cacheOptions, Logger: o.log, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: ptr.To(true), CacheSyncTimeout: patience}, // many managers in one process
		GracefulShutdownTimeout: ptr.To(patience),
	})
	require.NoError(c.t, err)
	ctx, cancel := context.WithCancel(c.ctx)
	require.NoError(c.t, controllers.SetUp(ctx, mgr, controllers.Options{Clock: o.clock, Settings: o.settings, BadNodes: o.badNodes, Frameworks: served(), Namespaces: namespaces, Metrics: o.metrics, TimesByNamespace: o.timesByNamespace, Definitions: o.definitions}))
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			c.t.Errorf("the manager ended with: %v", err)
		}
	}
	c.t.Cleanup(stop)
	return stop
}

// until waits until what is asked for holds. It asks in the test's own goroutine, so that what it asks for may fail the test.
func (c *cluster) until(what string, ask func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); !ask(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(c.t, "this never came: "+what, "in %s, after %s", c.ns, patience)
		}
	}
}

// untilEqual waits until something is as wanted. If that never comes, it tells the difference.
func (c *cluster) untilEqual(want any, ask func() any) {
	c.t.Helper()
	have := ask()
	for end := time.Now().Add(patience); !equality.Semantic.DeepEqual(want, have) && time.Now().Before(end); have = ask() {
		time.Sleep(50 * time.Millisecond)
	}
	require.Equal(c.t, want, have)
}

// in is the cluster as a subtest sees it.
func (c *cluster) in(t *testing.T) *cluster {
	sub := *c
	sub.t = t
	return &sub
}

// gone reports whether an object no longer exists, by its UID if it has one.
func (c *cluster) gone(o client.Object) bool {
	c.t.Helper()
	have := o.DeepCopyObject().(client.Object)
	err := c.Get(c.ctx, client.ObjectKeyFromObject(o), have)
	if apierrors.IsNotFound(err) {
		return true
	}
	require.NoError(c.t, err)
	return o.GetUID() != "" && o.GetUID() != have.GetUID()
}
