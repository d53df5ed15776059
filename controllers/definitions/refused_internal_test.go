package definitions

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestJobsOfADefinitionThatWasNeverAcceptedHearThatNobodyServesThem: an admin had replaced a definition by one with a mistake. Jobs heard nothing.
func TestJobsOfADefinitionThatWasNeverAcceptedHearThatNobodyServesThem(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "LargeJob"}
	accepted := []v1beta1.FrameworkRevision{{Name: "0123456789"}}
	for name, tc := range map[string]struct {
		accepted  metav1.ConditionStatus
		reason    string
		revisions []v1beta1.FrameworkRevision
		told      bool
	}{
		"it has a mistake":                         {metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, nil, true},
		"the operator may not make its kind":       {metav1.ConditionFalse, v1beta1.ReasonRightsMissing, nil, true},
		"its last edit has a mistake":              {metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, accepted, false},
		"nobody has looked at it":                  {"", "", nil, false},
		"it waits for its kind":                    {metav1.ConditionUnknown, v1beta1.ReasonKindMissing, nil, false},
		"it follows one that was deleted just now": {metav1.ConditionFalse, v1beta1.ReasonKindConflict, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind(kind)}}
			d.Status.Revisions = tc.revisions
			if tc.accepted != "" {
				setCondition(d, v1beta1.FrameworkAccepted, tc.accepted, tc.reason, "")
			}
			crd := largeCRD(apiextensionsv1.CustomResourceDefinitionVersion{Name: kind.Version, Served: true})
			for _, known := range []bool{true, false} { // by the definition that was deleted, or by the CRD alone
				c := fake.NewClientBuilder().WithScheme(schemeWith(t, kind)).WithObjects(d, crd, jobOf(kind, "waits")).Build()
				recorder := events.NewFakeRecorder(10)
				u := newUnserved(&Reconciler{Client: c, Live: c, Recorder: recorder}, logr.Discard())
				if known {
					u.add(kind)
				}
				require.NoError(t, u.look(t.Context()))
				require.Equal(t, tc.told, len(recorder.Events) == 1)
				require.Equal(t, known && tc.told, u.gone[kind], "it is looked at until a definition is accepted")
			}
		})
	}
}

// schemeWith returns a scheme of definitions, CRDs and a kind of jobs.
func schemeWith(t *testing.T, kind schema.GroupVersionKind) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	return scheme
}

// jobOf returns a job of a kind.
func jobOf(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	job := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	job.SetGroupVersionKind(kind)
	job.SetNamespace("team")
	job.SetName(name)
	job.SetUID(types.UID("uid-of-" + name))
	return job
}

// manyJobs is an apiserver that has ever more jobs of a kind.
type manyJobs struct {
	client.Reader
	read int
}

// List implements client.Reader.
func (m *manyJobs) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	page, ok := list.(*metav1.PartialObjectMetadataList)
	o := client.ListOptions{}
	o.ApplyOptions(options)
	if !ok || page.Kind != "LargeJobList" {
		return nil
	}
	for range o.Limit {
		m.read++
		page.Items = append(page.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("job-", m.read), UID: types.UID(fmt.Sprint(m.read)), DeletionTimestamp: &metav1.Time{},
		}})
	}
	if m.read < 3*maxUnserved { // a look without a bound ends, too
		page.SetContinue("more")
	}
	return nil
}

// TestALookAtJobsThatNobodyServesIsBounded: deploy/LIMITS.md tells of the jobs that are not looked at.
func TestALookAtJobsThatNobodyServesIsBounded(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "LargeJob"}
	jobs := &manyJobs{}
	u := newUnserved(&Reconciler{Live: jobs}, logr.Discard())
	for look := range 2 {
		require.NoError(t, u.lookAt(t.Context(), kind))
		require.Equal(t, (look+1)*maxUnserved, jobs.read)
		require.Len(t, u.told[kind], maxUnserved, "of jobs that are gone nothing is remembered")
	}
}
