package v1beta1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kubeversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selects reports whether the apiserver selects by fields of CRDs. One of 1.30 drops selectableFields.
func selects(t *testing.T) bool {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	require.NoError(t, err)
	info, err := server.ServerVersion()
	require.NoError(t, err)
	return kubeversion.MustParseGeneric(info.GitVersion).AtLeast(kubeversion.MajorMinor(1, 31))
}

func TestJobsAreSelectedByPhase(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	jobs := []client.Object{job(), pytorchJob(), tensorflowJob()}
	require.Len(t, jobs, len(kinds(t)))
	for _, smallest := range jobs {
		kind := manifest(t, smallest).GetKind()
		for _, phase := range []string{"Failed", "Running"} {
			j := manifest(t, smallest)
			j.SetName(strings.ToLower(kind + "-" + phase))
			j.SetNamespace(ns)
			require.NoError(t, c.Create(t.Context(), j), kind)
			require.NoError(t, unstructured.SetNestedField(j.Object, phase, "status", "phase"))
			require.NoError(t, c.Status().Update(t.Context(), j), kind)
		}
		found := &unstructured.UnstructuredList{}
		found.SetGroupVersionKind(manifest(t, smallest).GroupVersionKind())
		err := c.List(t.Context(), found, client.InNamespace(ns), client.MatchingFields{"status.phase": "Failed"})
		if !selects(t) {
			require.ErrorContains(t, err, "field label not supported", kind)
			continue
		}
		require.NoError(t, err, kind)
		require.Len(t, found.Items, 1, kind)
		require.Equal(t, strings.ToLower(kind)+"-failed", found.Items[0].GetName())
	}
}
