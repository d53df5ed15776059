package v1beta1_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// patience bounds the waits for the apiserver to serve a schema.
const patience = 10 * time.Minute

// The operator writes the whole job with each status: an upgrade that made it refuse jobs which are stored would leave them
// without one. The last version's CRD is this one without the bounds, here in a group of its own.
func TestAJobThatWasStoredBeforeTheBoundsCanStillBePaused(t *testing.T) {
	testenv.Needs(t, cluster, 34, "a status is written although another field breaks a rule that it did not have when it was stored")
	c := newClient(t)
	crd := inGroup(t, "earlier.example.com")
	bounded := crd.DeepCopy()
	withoutBounds(t, crd)
	require.NoError(t, c.Create(t.Context(), crd))
	large := manifest(t, job(spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules = ranks(5, 10000, 1)
		s.ReplicaSpecs[1].Template.Spec.Tolerations = make([]corev1.Toleration, 257)
	})))
	large.SetAPIVersion("earlier.example.com/v1beta1")
	large.SetNamespace(newNamespace(t, c))
	require.Eventually(t, func() bool { return c.Create(t.Context(), large) == nil }, patience, 50*time.Millisecond)

	schema, err := bounded.MarshalJSON()
	require.NoError(t, err)
	require.NoError(t, c.Patch(t.Context(), crd, client.RawPatch(client.Merge.Type(), schema)))
	another := large.DeepCopy()
	another.SetName("another")
	another.SetResourceVersion("")
	require.Eventually(t, func() bool { return apierrors.IsInvalid(c.Create(t.Context(), another, client.DryRunAll)) }, patience, 50*time.Millisecond)

	require.NoError(t, unstructured.SetNestedField(large.Object, "Pending", "status", "phase"))
	require.NoError(t, c.Status().Update(t.Context(), large))
	require.NoError(t, unstructured.SetNestedField(large.Object, true, "spec", "runMode", "pause", "enabled"))
	require.NoError(t, c.Update(t.Context(), large))
	require.NoError(t, unstructured.SetNestedField(large.Object, "Paused", "status", "phase"))
	require.NoError(t, c.Status().Update(t.Context(), large))
	rules, _, err := unstructured.NestedSlice(large.Object, "spec", "successRules")
	require.NoError(t, err)
	require.NoError(t, unstructured.SetNestedSlice(large.Object, append(rules, map[string]any{"ps": []any{int64(0)}}), "spec", "successRules"))
	require.ErrorContains(t, c.Update(t.Context(), large), "may name at most 50000 ranks")
}

// inGroup is the CRD of GenericJob in another group.
func inGroup(t *testing.T, group string) *unstructured.Unstructured {
	t.Helper()
	root, err := testenv.Root()
	require.NoError(t, err)
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "crd", "batch.tensorstack.dev_genericjobs.yaml"))
	require.NoError(t, err)
	json, err := yaml.YAMLToJSON(raw)
	require.NoError(t, err)
	crd := &unstructured.Unstructured{}
	require.NoError(t, crd.UnmarshalJSON(json))
	crd.SetName("genericjobs." + group)
	require.NoError(t, unstructured.SetNestedField(crd.Object, group, "spec", "group"))
	for _, field := range []string{"shortNames", "categories"} { // they are looked for in all groups
		unstructured.RemoveNestedField(crd.Object, "spec", "names", field)
	}
	return crd
}

// withoutBounds takes out of the CRD what bounds success rules and tolerations.
func withoutBounds(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	schema := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}
	version := versions[0].(map[string]any)
	unstructured.RemoveNestedField(version, append(schema, "successRules", "x-kubernetes-validations")...)
	types, _, err := unstructured.NestedMap(version, append(schema, "replicaSpecs", "items")...)
	require.NoError(t, err)
	unstructured.RemoveNestedField(types, "properties", "template", "properties", "spec", "properties", "tolerations", "maxItems")
	require.NoError(t, unstructured.SetNestedMap(version, types, append(schema, "replicaSpecs", "items")...))
	require.NoError(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
}
