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
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/controllers/badnodes"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// patience bounds every wait. No test depends on how fast anything is.
const patience = 10 * time.Minute

// apiserver is the configuration with which tests talk to their apiserver, operator that of the operator. The operator
// may do what deploy/rbac lets it do and no more.
var apiserver, operator *rest.Config

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(testenv.Main(m, func(e *envtest.Environment) {
		var err error
		if apiserver, operator, err = connect(e); err != nil {
			panic(err)
		}
	}, "kubeflow/crd"))
}

// connect makes the configurations of tests and of the operator for an apiserver.
func connect(e *envtest.Environment) (admin, operator *rest.Config, err error) {
	admin = e.Config
	admin.QPS = -1
	user, err := e.AddUser(envtest.User{Name: "system:serviceaccount:system:manager"}, nil)
	if err != nil {
		return nil, nil, err
	}
	operator = user.Config()
	operator.QPS = -1
	for _, file := range []string{"rbac/manager_role.yaml", "rbac/framework_roles.yaml", "framework-schemas/framework_schemas_role.yaml", "kubeflow/component/keys_role.yaml", "kubeflow/component/manager_role.yaml"} {
		if err := grant(admin, filepath.Join("..", "deploy", filepath.FromSlash(file))); err != nil {
			return nil, nil, err
		}
	}
	return admin, operator, awaitRights(operator)
}

// awaitRights waits until the apiserver knows the role that was granted last, and its binding: it learns of them by watches, in their order.
func awaitRights(operator *rest.Config) error {
	scheme, err := controllers.NewScheme(served()...)
	if err != nil {
		return err
	}
	c, err := client.New(operator, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	end := time.Now().Add(patience)
	for err = errors.New("not asked"); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = c.List(context.Background(), &kubeflowv1.PyTorchJobList{})
	}
	return err
}

// grant creates the objects of a file of roles.
func grant(admin *rest.Config, file string) error {
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if strings.HasPrefix(o.GetName(), "genericjob-") && o.GetKind() == "ClusterRoleBinding" {
			// here the names are those before deploy/default's prefix
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "system"}}, "subjects")
		}
		if err := c.Create(context.Background(), o); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

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

// try creates a job from the YAML of its spec.
func (c *cluster) try(name, spec string) (*v1beta1.GenericJob, error) {
	c.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "POD", onePod)), &job.Spec))
	return job, c.Create(c.ctx, job)
}

// onePod is the template that POD stands for in a job's YAML.
const onePod = "{spec: {containers: [{name: main, image: busybox}]}}"

func (c *cluster) submit(name, spec string) *v1beta1.GenericJob {
	c.t.Helper()
	job, err := c.try(name, spec)
	require.NoError(c.t, err)
	return job
}

// job reads a job live.
func (c *cluster) job(name string) *v1beta1.GenericJob {
	c.t.Helper()
	job := &v1beta1.GenericJob{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job))
	return job
}

// edit changes a job's spec, again and again until no status write comes between.
func (c *cluster) edit(name string, change func(*v1beta1.GenericJobSpec)) {
	c.t.Helper()
	require.NoError(c.t, c.tryEdit(name, change))
}

// tryEdit is edit that may be refused.
func (c *cluster) tryEdit(name string, change func(*v1beta1.GenericJobSpec)) error {
	c.t.Helper()
	for {
		job := c.job(name)
		change(&job.Spec)
		if err := c.Update(c.ctx, job); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// pods lists a job's pods by name.
func (c *cluster) pods(job *v1beta1.GenericJob) map[string]corev1.Pod {
	c.t.Helper()
	list := &corev1.PodList{}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(c.ns), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}))
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Labels[v1beta1.LabelReplicaType]+"-"+pod.Labels[v1beta1.LabelReplicaRank]] = pod
	}
	return pods
}

func (c *cluster) names(job *v1beta1.GenericJob) []string {
	var names []string
	for name := range c.pods(job) {
		names = append(names, name)
	}
	return names
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

// await waits until a job's status is as asked for, and returns the job. If that never comes, it prints what came.
func (c *cluster) await(name string, ask func(*v1beta1.GenericJob) bool) *v1beta1.GenericJob {
	c.t.Helper()
	end := time.Now().Add(patience)
	for {
		job := c.job(name)
		if ask(job) {
			return job
		}
		if time.Now().After(end) {
			text, _ := yaml.Marshal(job.Status)
			require.FailNow(c.t, "the job did not get there", "%s of %s:\n%s\nevents: %v", name, c.ns, text, c.told(job))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *cluster) awaitPhase(name string, phase v1beta1.JobPhase) *v1beta1.GenericJob {
	c.t.Helper()
	return c.await(name, func(j *v1beta1.GenericJob) bool { return j.Status.Phase == phase })
}

// awaitCondition waits until a condition is True for a reason.
func (c *cluster) awaitCondition(name string, t v1beta1.JobConditionType, reason string) (*v1beta1.GenericJob, v1beta1.JobCondition) {
	c.t.Helper()
	job := c.await(name, func(j *v1beta1.GenericJob) bool {
		have := condition(j, t)
		return have.Status == metav1.ConditionTrue && have.Reason == reason
	})
	return job, condition(job, t)
}

func condition(job *v1beta1.GenericJob, t v1beta1.JobConditionType) v1beta1.JobCondition {
	for _, c := range job.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return v1beta1.JobCondition{}
}

// told lists the events about a job, as "Warning Reason: note".
func (c *cluster) told(job client.Object) []string {
	c.t.Helper()
	list := &eventsv1.EventList{}
	namespace := c.ns
	if job.GetNamespace() == "" { // a definition
		namespace = metav1.NamespaceDefault
	}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(namespace)))
	var told []string
	for _, e := range list.Items {
		if e.Regarding.UID == job.GetUID() {
			told = append(told, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return told
}

// awaitEvent waits until an event begins so and holds these words.
func (c *cluster) awaitEvent(job client.Object, begin string, words ...string) {
	c.t.Helper()
	c.until(begin+" "+strings.Join(words, ", "), func() bool {
		for _, e := range c.told(job) {
			found := strings.HasPrefix(e, begin)
			for _, w := range words {
				found = found && strings.Contains(e, w)
			}
			if found {
				return true
			}
		}
		return false
	})
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
