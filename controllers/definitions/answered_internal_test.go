package definitions

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestWhatTheApiserverSaysOfACRDIsShown: the author would wait for nothing if the operator tried again and again.
func TestWhatTheApiserverSaysOfACRDIsShown(t *testing.T) {
	crds := schema.GroupResource{Group: apiextensionsv1.GroupName, Resource: "customresourcedefinitions"}
	denied := func(code int32) error { // as a webhook says it without a reason
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: `admission webhook "crds.example.com" denied the request: ask Ann`}}
	}
	forbidden := apierrors.NewForbidden(crds, "a", errors.New(`admission webhook "crds.example.com" denied the request: ask Ann`))
	there := &apiextensionsv1.CustomResourceDefinition{}
	for name, tc := range map[string]struct {
		err            error
		crd            *apiextensionsv1.CustomResourceDefinition
		reason, refers string
	}{
		"invalid":                 {apierrors.NewInvalid(schema.GroupKind{Kind: "CustomResourceDefinition"}, "a", nil), nil, v1beta1.ReasonInvalidDefinition, `"a" is invalid`},
		"a webhook, 400":          {denied(http.StatusBadRequest), nil, v1beta1.ReasonInvalidDefinition, "ask Ann"},
		"a webhook, 422":          {denied(http.StatusUnprocessableEntity), nil, v1beta1.ReasonInvalidDefinition, "ask Ann"},
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
