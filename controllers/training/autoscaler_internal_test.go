package training

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/framework"
)

// TestAnOldViewOfAnAutoscalerIsNoError: Kubernetes writes its status every few seconds.
func TestAnOldViewOfAnAutoscalerIsNoError(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, autoscalingv2.AddToScheme(scheme))
	kind := v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob)
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "team", UID: "uid"}}
	have := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Name: "job", Namespace: "team", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)},
	}}
	what := schema.GroupResource{Group: autoscalingv2.GroupName, Resource: "horizontalpodautoscalers"}
	var answer error
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(have).WithInterceptorFuncs(interceptor.Funcs{
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return answer },
	}).Build()
	r := &Reconciler{Registration: framework.Registration{Autoscales: true, Phase: func(client.Object) v1beta1.JobPhase { return v1beta1.JobRunning }}, Client: c, Live: c, Kind: kind}
	want := &autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5}

	answer = apierrors.NewConflict(what, "job", errors.New("modified"))
	out := showing{requeueAfter: time.Hour}
	require.NoError(t, r.ensureAutoscaler(t.Context(), job, want, &out))
	require.Equal(t, calls.RetrySoon, out.requeueAfter)

	answer = apierrors.NewForbidden(what, "job", errors.New("a webhook"))
	out = showing{}
	require.ErrorContains(t, r.ensureAutoscaler(t.Context(), job, want, &out), "a webhook")
	require.Zero(t, out.requeueAfter)
}
