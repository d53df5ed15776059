package definitions

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/controllers/wiring"
	"github.com/genericjob/genericjob/translators/definition"
)

// replacing is a reconciler of definitions whose apiserver has these kinds of JAX jobs. The caches of the jobs are never filled.
type replacing struct {
	*testing.T
	*Reconciler
	recorder *events.FakeRecorder
}

func frameworkKind(group, kind string) v1beta1.FrameworkKind {
	return v1beta1.FrameworkKind{Group: group, Version: "v1alpha1", Kind: kind}
}

func readJAX(t *testing.T, file string, o any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "frameworks", "jax", file))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, o))
}

func newReplacing(t *testing.T, installed ...v1beta1.FrameworkKind) *replacing {
	t.Helper()
	newScheme := func() (*runtime.Scheme, error) {
		s := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, corev1.AddToScheme, apiextensionsv1.AddToScheme, authorizationv1.AddToScheme} {
			require.NoError(t, add(s))
		}
		return s, nil
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	var crds []client.Object
	for _, kind := range installed {
		mapper.Add(schema.GroupVersionKind(kind), meta.RESTScopeNamespace)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		readJAX(t, "crd.yaml", crd)
		crd.Name, crd.Spec.Group, crd.Spec.Names.Kind = definition.CRDName(kind.Kind, kind.Group), kind.Group, kind.Kind
		crd.UID = types.UID(crd.Name)
		crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		crds = append(crds, crd)
	}
	scheme, err := newScheme()
	require.NoError(t, err)
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crds...).WithStatusSubresource(&v1beta1.TrainingFramework{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if ask, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				ask.Status.Allowed = true
				return nil
			}
			return c.Create(ctx, o, options...)
		},
	}).Build()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	})
	require.NoError(t, err)
	kinds := NewKinds(t.Context(), wiring.New(mgr, 1, clock.RealClock{}, metrics.New()), newScheme, func() (cache.Options, error) { return cache.Options{}, nil })
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{Client: c, Live: c, Recorder: recorder, kinds: kinds}
	r.unserved = newUnserved(r, logr.Discard())
	kinds.unserved = r.unserved.add
	return &replacing{T: t, Reconciler: r, recorder: recorder}
}

// define makes a definition, in place of one of its name if there is one.
func (r *replacing) define(name string, kind v1beta1.FrameworkKind, uid types.UID) {
	r.Helper()
	d := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(r, client.IgnoreNotFound(r.Client.Delete(r.Context(), d)))
	d = &v1beta1.TrainingFramework{}
	readJAX(r.T, "framework.yaml", d)
	d.Name, d.UID, d.Spec.Kind = name, uid, kind
	require.NoError(r, r.Client.Create(r.Context(), d))
}

// see makes one reconcile over a definition, and returns how it serves.
func (r *replacing) see(name string) *metav1.Condition {
	r.Helper()
	_, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Name: name}})
	require.NoError(r, err)
	d := &v1beta1.TrainingFramework{}
	require.NoError(r, r.Client.Get(r.Context(), client.ObjectKey{Name: name}, d))
	return meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkServing)
}

// watched returns the kinds that are watched, by their definitions.
func (r *replacing) watched() map[string]v1beta1.FrameworkKind {
	watched := map[string]v1beta1.FrameworkKind{}
	for name, served := range r.kinds.running {
		watched[name] = v1beta1.FrameworkKind(served.kind)
	}
	return watched
}

// runs puts an unfinished job of a definition's kind into the cache.
func (r *replacing) runs(name string) {
	r.Helper()
	informer := r.kinds.running[name].jobs.(interface{ GetIndexer() toolscache.Indexer })
	require.NoError(r, informer.GetIndexer().Add(&definition.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "runs"}}))
}

// toldUnserved returns the kinds whose jobs hear that nobody serves them.
func (r *replacing) toldUnserved() (list []schema.GroupVersionKind) {
	r.Helper()
	all := &v1beta1.TrainingFrameworkList{}
	require.NoError(r, r.Client.List(r.Context(), all))
	defined := map[schema.GroupKind]bool{}
	for i := range all.Items {
		defined[definition.KindOf(&all.Items[i].Spec).GroupKind()] = true
	}
	for kind := range r.unserved.gone {
		if !defined[kind.GroupKind()] {
			list = append(list, kind)
		}
	}
	return list
}

// TestADefinitionIsMadeAgainBetweenTwoReconciles: `kubectl replace --force` deletes it and makes another of its name, perhaps of another kind.
func TestADefinitionIsMadeAgainBetweenTwoReconciles(t *testing.T) {
	first, second := frameworkKind("a.example.com", "FirstJob"), frameworkKind("b.example.com", "SecondJob")
	start := func(t *testing.T, installed ...v1beta1.FrameworkKind) *replacing {
		t.Helper()
		r := newReplacing(t, installed...)
		r.define("foo", first, "one")
		require.Equal(t, metav1.ConditionUnknown, r.see("foo").Status, "the cache is not filled")
		require.Equal(t, map[string]v1beta1.FrameworkKind{"foo": first}, r.watched())
		r.runs("foo")
		return r
	}
	const deleted = "TrainingFramework foo is deleted, and 1 jobs of kind FirstJob are not over"

	t.Run("with another kind", func(t *testing.T) {
		r := start(t, first, second)
		r.define("foo", second, "two")
		require.Equal(t, v1beta1.ReasonServing, r.see("foo").Reason)
		require.Equal(t, map[string]v1beta1.FrameworkKind{"foo": second}, r.watched())
		require.Equal(t, types.UID("two"), r.kinds.running["foo"].definition.UID)
		require.Equal(t, []schema.GroupVersionKind{schema.GroupVersionKind(first)}, r.toldUnserved())
		require.Len(t, r.recorder.Events, 1)
		require.Contains(t, <-r.recorder.Events, deleted)
	})
	t.Run("with a kind that is not there, and that differs in case alone", func(t *testing.T) {
		r := start(t, first)
		r.define("foo", frameworkKind(first.Group, strings.ToUpper(first.Kind)), "two")
		require.Equal(t, v1beta1.ReasonKindMissing, r.see("foo").Reason)
		require.Empty(t, r.watched())
		require.Equal(t, []schema.GroupVersionKind{schema.GroupVersionKind(first)}, r.toldUnserved())
		require.Len(t, r.recorder.Events, 1)
		require.Contains(t, <-r.recorder.Events, deleted)
	})
	t.Run("with the same kind", func(t *testing.T) {
		r := start(t, first)
		served := r.kinds.running["foo"]
		r.define("foo", first, "two")
		require.Equal(t, v1beta1.ReasonServing, r.see("foo").Reason)
		require.Same(t, served, r.kinds.running["foo"], "its cache stays")
		require.Equal(t, types.UID("two"), served.definition.UID, "events are of the one that there is")
		require.Empty(t, r.toldUnserved())
		require.Empty(t, r.recorder.Events)
	})
	t.Run("with another version of the kind", func(t *testing.T) {
		r := start(t, first)
		other := first
		other.Version = "v2"
		r.define("foo", other, "two")
		require.Equal(t, v1beta1.ReasonKindMissing, r.see("foo").Reason)
		require.Empty(t, r.watched())
		require.Empty(t, r.toldUnserved(), "the kind has a definition")
		require.Empty(t, r.recorder.Events)
	})
}

// TestTwoDefinitionsExchangeTheirKinds between two reconciles.
func TestTwoDefinitionsExchangeTheirKinds(t *testing.T) {
	first, second := frameworkKind("a.example.com", "FirstJob"), frameworkKind("b.example.com", "SecondJob")
	elsewhere := frameworkKind("c.example.com", "FirstJob") // of the same name in another group
	for name, tc := range map[string]struct {
		x, y     v1beta1.FrameworkKind
		unserved []schema.GroupVersionKind
	}{
		"kind for kind":      {x: second, y: first},
		"in another group":   {x: second, y: elsewhere, unserved: []schema.GroupVersionKind{schema.GroupVersionKind(first)}},
		"one stays as it is": {x: first, y: second},
	} {
		for _, names := range [][]string{{"x", "y"}, {"y", "x"}} {
			t.Run(name+", "+names[0]+" is looked at first", func(t *testing.T) {
				r := newReplacing(t, first, second, elsewhere)
				r.define("x", first, "one")
				r.define("y", second, "two")
				r.see("x")
				r.see("y")
				require.Equal(t, map[string]v1beta1.FrameworkKind{"x": first, "y": second}, r.watched())
				r.define("x", tc.x, "three")
				r.define("y", tc.y, "four")
				for _, name := range names {
					require.Equal(t, v1beta1.ReasonServing, r.see(name).Reason)
				}
				require.Equal(t, map[string]v1beta1.FrameworkKind{"x": tc.x, "y": tc.y}, r.watched())
				require.Equal(t, tc.unserved, r.toldUnserved())
				require.Empty(t, r.recorder.Events, "no job that is not over")
			})
		}
	}
}
