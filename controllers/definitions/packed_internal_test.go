package definitions

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/translators/definition"
)

const largeText = 20_000

// large returns a definition as the cache holds it, with the annotation that kubectl apply writes.
func large(t *testing.T, name string) *v1beta1.TrainingFramework {
	t.Helper()
	d := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"applied": strings.Repeat("x", largeText)}}}
	d.Spec.Kind = v1beta1.FrameworkKind{Group: "example.com", Version: "v2", Kind: "LargeJob"}
	_, err := compact.Object(d)
	require.NoError(t, err)
	return d
}

// of returns a reconciler whose cache holds these, and what it records.
func of(t *testing.T, objects ...client.Object) (*Reconciler, *events.FakeRecorder) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	recorder := events.NewFakeRecorder(10)
	return &Reconciler{Client: compact.Client(c), Live: c, Recorder: recorder}, recorder
}

func largeCRD(versions ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: definition.CRDName("LargeJob", "example.com"), Annotations: map[string]string{v1beta1.AnnotationSchema: "made"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: "LargeJob"}, Versions: versions,
		},
	}
}

// TestALargeDefinitionWakesAndServes: handlers of events, and what looks for jobs that nobody serves, read its kind.
func TestALargeDefinitionWakesAndServes(t *testing.T) {
	a, b := large(t, "a"), large(t, "b")
	crd := largeCRD(apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true})
	r, recorder := of(t, a, b, crd)
	require.Equal(t, []ctrl.Request{{NamespacedName: client.ObjectKey{Name: "b"}}}, r.rivals(t.Context(), a))
	require.Len(t, r.defined(t.Context(), crd), 2)

	u := newUnserved(r, logr.Discard())
	u.add(schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "LargeJob"})
	require.NoError(t, u.look(t.Context()))
	require.Empty(t, u.gone, "it is served again")
	require.Empty(t, u.told, "no job of the kind is looked for")
	require.Empty(t, recorder.Events)
}

// TestUnservedJobsAreReadInAServedVersion: an old version may stay in a CRD, and is not served.
func TestUnservedJobsAreReadInAServedVersion(t *testing.T) {
	for want, versions := range map[string][]apiextensionsv1.CustomResourceDefinitionVersion{
		"v2": {{Name: "v1"}, {Name: "v2", Served: true}},
		"":   {{Name: "v1"}},
	} {
		r, _ := of(t, largeCRD(versions...))
		kinds, err := newUnserved(r, logr.Discard()).made(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, want != "", kinds[schema.GroupVersionKind{Group: "example.com", Version: want, Kind: "LargeJob"}])
		require.Len(t, kinds, len(want)/2)
	}
}

// TestRevisionsInUseAreReadOfPackedJobs: to open all large jobs of the cluster at once would take gigabytes. What is packed here cannot be opened.
func TestRevisionsInUseAreReadOfPackedJobs(t *testing.T) {
	d := large(t, "a")
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{
		Name: "j", Namespace: "team", OwnerReferences: []metav1.OwnerReference{{Kind: "LargeJob", Controller: ptr.To(true)}},
		Annotations: map[string]string{v1beta1.AnnotationFrameworkRevision: "0123456789", "size": strings.Repeat("x", largeText)},
	}}
	_, err := compact.Object(job)
	require.NoError(t, err)
	require.True(t, compact.SpecIsPacked(job))
	for key, text := range job.Annotations {
		if len(text) > largeText {
			job.Annotations[key] = "no JSON"
		}
	}
	r, _ := of(t, d, job)
	budget := &compact.Budget{}
	_, err = budget.Around(reconcile.Func(func(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
		used, err := r.used(ctx, d)
		require.NoError(t, err)
		require.Equal(t, map[string]bool{"0123456789": true}, used)
		return ctrl.Result{}, nil
	})).Reconcile(t.Context(), ctrl.Request{})
	require.NoError(t, err)
}
