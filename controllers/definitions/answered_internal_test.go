package definitions

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestWhatTheApiserverSaysOfACRDIsShown: the author would wait for nothing if the operator tried again and again.
func TestWhatTheApiserverSaysOfACRDIsShown(t *testing.T) {
	crds := schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
	denied := func(code int32) error { // as a webhook says it without a reason
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "crds.example.com" denied the request: ask Ann`}}
	}
	forbidden := apierrors.NewForbidden(crds, "a", errors.New(`admission webhook "crds.example.com" denied the request: ask Ann`))
	mistake := field.ErrorList{field.Invalid(field.NewPath("spec", "versions"), "", "is wrong")}
	there := &apiextensionsv1.CustomResourceDefinition{}
	for name, tc := range map[string]struct {
		err            error
		crd            *apiextensionsv1.CustomResourceDefinition
		reason, refers string
	}{
		"invalid":                 {apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, "a", mistake), nil, v1beta1.ReasonInvalidDefinition, `"a" is invalid`},
		"a webhook, 400":          {denied(http.StatusBadRequest), nil, v1beta1.ReasonRefused, "ask Ann"},
		"a webhook, 422":          {denied(http.StatusUnprocessableEntity), nil, v1beta1.ReasonRefused, "ask Ann"},
		"a webhook, 403":          {denied(http.StatusForbidden), nil, v1beta1.ReasonRightsMissing, "ask Ann"},
		"a webhook, of an edit":   {forbidden, there, v1beta1.ReasonRightsMissing, "ask Ann"},
		"too large":               {apierrors.NewRequestEntityTooLargeError("limit is 3145728"), nil, v1beta1.ReasonInvalidDefinition, "limit is 3145728"},
		"too large for the store": {apierrors.NewInternalError(errors.New("etcdserver: request is too large")), nil, "", ""},
		"an edit in between":      {apierrors.NewConflict(crds, "a", errors.New("it has changed")), nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judgement{kindFound: kindFound{crd: tc.crd}}
			err := j.noteAnswer(tc.err)
			if tc.reason == "" {
				require.ErrorIs(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.reason, j.notServed.reason+j.schemaRefused.reason)
			require.Contains(t, j.notServed.message+j.schemaRefused.message, tc.refers)
		})
	}
}

// TestADefinitionRecoversFromAWebhookByItself: a webhook that denies wrongly for some minutes is no mistake of the author's, who would edit in vain.
func TestADefinitionRecoversFromAWebhookByItself(t *testing.T) {
	var denied error = apierrors.NewBadRequest(`admission webhook "crds.example.com" denied the request: ask Ann`)
	d := &v1beta1.TrainingFramework{Spec: v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind(largeKind)}}
	c := fake.NewClientBuilder().WithScheme(schemeWith(t, largeKind)).WithObjects(d).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return denied },
	}).Build()
	j := &judgement{Reconciler: &Reconciler{Client: c, Live: c, kinds: &Kinds{}}, definition: d, made: largeCRD(apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2"})}
	j.notServed = whyNot{v1beta1.ReasonKindMissing, "The cluster has no kind LargeJob."}
	require.NoError(t, j.makeKind(t.Context()))
	require.NoError(t, j.accept(t.Context()))
	setCondition(d, v1beta1.FrameworkServing, metav1.ConditionFalse, j.notServed.reason, j.notServed.message)
	setReady(d)
	require.True(t, meta.IsStatusConditionTrue(d.Status.Conditions, v1beta1.FrameworkReconciling), "nobody has to edit it")
	require.Equal(t, askForRights, j.orSooner(0))
	require.Equal(t, askForRights, j.orSooner(askAgain), "after an edit of one that serves, too")
	denied = nil
	require.NoError(t, j.makeKind(t.Context()))
	require.Contains(t, j.notServed.message, "has just been made")
}
