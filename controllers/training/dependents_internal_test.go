package training

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// TestATakenNameOfAConfigMapCostsOneCreate: the apiserver sees that a name is taken only after it has charged a create to the quotas.
func TestATakenNameOfAConfigMapCostsOneCreate(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "train", UID: "1"}}
	data := map[string]string{"hosts": "a"}
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: framework.ConfigMapName("train", data)}}
	creates := 0
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(theirs).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			creates++
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	r := &Reconciler{
		Registration: framework.Registration{Phase: func(client.Object) v1beta1.JobPhase { return v1beta1.JobPending }},
		Client:       c, Live: c, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Memory: &Memory{},
		Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob),
	}
	for range 3 {
		out, err := r.showRefusal(t.Context(), job, nil, r.ensureData(t.Context(), job, data))
		require.NoError(t, err)
		require.Equal(t, v1beta1.ReasonNameConflict, out.events[0].Reason)
		require.Equal(t, 1, creates)
	}
	require.NoError(t, c.Delete(t.Context(), theirs))
	require.NoError(t, r.ensureData(t.Context(), job, data))
	require.Equal(t, 2, creates, "the name is free")
}
