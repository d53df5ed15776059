package compact

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	return scheme
}

// fill makes so many ConfigMaps of some kilobytes in a new namespace.
func fill(t *testing.T, n int) (client.WithWatch, string) {
	t.Helper()
	c, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	require.NoError(t, c.Create(t.Context(), ns))
	for i := range n {
		require.NoError(t, c.Create(t.Context(), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: fmt.Sprint("c-", i)}, Data: map[string]string{"a": strings.Repeat("x", 5000)},
		}))
	}
	return c, ns.Name
}

// TestAnOlderApiserverIsAskedForPagesOfWhichEachIsMadeCompact: the informer asks for version 0, which is answered in one.
func TestAnOlderApiserverIsAskedForPagesOfWhichEachIsMadeCompact(t *testing.T) {
	c, ns := fill(t, 2*pageSize+3)
	var pages []int
	source := &toolscache.ListWatch{ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		some := &corev1.ConfigMapList{}
		err := c.List(ctx, some, client.InNamespace(ns), &client.ListOptions{Raw: &o, Limit: o.Limit, Continue: o.Continue})
		pages = append(pages, len(some.Items))
		return some, err
	}}
	all, err := list(t.Context(), source, metav1.ListOptions{ResourceVersion: "0"})
	require.NoError(t, err)
	require.Equal(t, []int{pageSize, pageSize, 3}, pages)
	require.Equal(t, 2*pageSize+3, meta.LenList(all))
	require.NoError(t, meta.EachListItem(all, func(o runtime.Object) error {
		require.Empty(t, o.(*corev1.ConfigMap).Data)
		return nil
	}))
	accessor, err := meta.ListAccessor(all)
	require.NoError(t, err)
	require.NotEmpty(t, accessor.GetResourceVersion())
}

// TestAnInformerReadsAStreamAndNoList: a list stands in memory as a whole before its first entry is made compact.
func TestAnInformerReadsAStreamAndNoList(t *testing.T) {
	testenv.Needs(t, cluster, 32, "lists that come as a stream (WatchList)")
	_, ns := fill(t, 3)
	var mu sync.Mutex
	var asked []string
	cfg := rest.CopyConfig(cluster.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/configmaps") {
				mu.Lock()
				asked = append(asked, r.URL.RawQuery)
				mu.Unlock()
			}
			return next.RoundTrip(r)
		})
	})
	all, err := cache.New(cfg, cache.Options{
		Scheme: newScheme(t), DefaultTransform: Object, NewInformer: NewInformer, DefaultNamespaces: map[string]cache.Config{ns: {}},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	go func() { _ = all.Start(ctx) }()
	list := &corev1.ConfigMapList{}
	require.NoError(t, all.List(ctx, list, client.InNamespace(ns)))
	require.Len(t, list.Items, 3)
	for _, item := range list.Items {
		require.Empty(t, item.Data)
	}
	mu.Lock()
	defer mu.Unlock()
	require.NotEmpty(t, asked)
	for _, query := range asked {
		require.Contains(t, query, "sendInitialEvents=true")
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
