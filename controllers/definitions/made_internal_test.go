package definitions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestAKindIsMadeInPlaceOfNoOther: a CRD that the operator has not made may have the objects of somebody else's operator.
func TestAKindIsMadeInPlaceOfNoOther(t *testing.T) {
	type crd = apiextensionsv1.CustomResourceDefinition
	v2 := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true}
	v1 := apiextensionsv1.CustomResourceDefinitionVersion{Name: "v1", Served: true}
	for name, tc := range map[string]struct {
		have          func(*crd) // what the CRD of the name is that the cluster has; nil if it has none
		served        bool       // whether the kind was found
		writes        int
		refused, says string
	}{
		"there is none":          {writes: 1, says: "has just been made"},
		"it is as wanted":        {have: func(c *crd) { c.Annotations[v1beta1.AnnotationSchema] = "wanted" }, served: true},
		"it has an older schema": {have: func(*crd) {}, served: true, writes: 1},
		"it is not served yet":   {have: func(*crd) {}, writes: 1, says: "is not served yet"},
		"its names are another's": {have: func(c *crd) {
			c.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.NamesAccepted, Status: "False", Message: "taken"}}
		}, writes: 1, says: "is not served: taken."},
		"it is being deleted": {have: func(c *crd) {
			c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{"example.com/waits"}
		}, says: "is being deleted"},
		"somebody else made it":                        {have: func(c *crd) { c.Annotations = nil }, served: true, refused: v1beta1.ReasonKindConflict, says: "the operator has not made it"},
		"it has the kind by another name":              {have: func(c *crd) { c.Name = "others.example.com" }, served: true, refused: v1beta1.ReasonKindConflict, says: "others.example.com is there"},
		"its kind differs from the wanted one in case": {have: func(c *crd) { c.Spec.Names.Kind = "LARGEJob" }, refused: v1beta1.ReasonKindConflict, says: "of kind LARGEJob"},
	} {
		t.Run(name, func(t *testing.T) {
			made, have := largeCRD(v2), largeCRD(v1)
			made.Annotations[v1beta1.AnnotationSchema], have.Annotations["theirs"] = "wanted", "stays"
			var objects []client.Object
			if tc.have != nil {
				tc.have(have)
				objects = append(objects, have)
			}
			writes := 0
			c := fake.NewClientBuilder().WithScheme(schemeWith(t, schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "LargeJob"})).WithObjects(objects...).
				WithInterceptorFuncs(interceptor.Funcs{
					Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
						writes++
						return c.Create(ctx, o, options...)
					},
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
						writes++
						return c.Patch(ctx, o, patch, options...)
					},
				}).Build()
			j := &judgement{Reconciler: &Reconciler{Client: c, Live: c}, made: made}
			if tc.served {
				j.crd = &crd{}
				require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(have), j.crd))
			}
			require.NoError(t, j.makeKind(t.Context()))
			require.Equal(t, tc.writes, writes)
			require.Equal(t, tc.refused, j.schemaRefused.reason)
			require.Contains(t, j.schemaRefused.message+j.notServed.message, tc.says)
			if writes > 0 {
				now := &crd{}
				require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(made), now))
				require.Equal(t, "wanted", now.Annotations[v1beta1.AnnotationSchema])
				require.Equal(t, "v2", now.Spec.Versions[0].Name)
				require.Equal(t, tc.have != nil, now.Annotations["theirs"] == "stays")
			}
		})
	}
}
