package training

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorboard"
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

// TestAJobThatIsOverHasNoAutoscalerThoughItsSpecIsInvalidNow, as after an edit or an upgrade. Its TensorBoard stays.
func TestAJobThatIsOverHasNoAutoscalerThoughItsSpecIsInvalidNow(t *testing.T) {
	for phase, over := range map[v1beta1.JobPhase]bool{v1beta1.JobSucceeded: true, v1beta1.JobRunning: false} {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, autoscalingv2.AddToScheme, appsv1.AddToScheme} {
			require.NoError(t, add(scheme))
		}
		kind := v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob)
		job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "team", UID: "uid"}}
		meta := metav1.ObjectMeta{Name: "job", Namespace: "team", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind)}}
		scaler, board := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta}, &appsv1.Deployment{ObjectMeta: meta}
		board.Name = tensorboard.Name(job)
		c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(scaler, board, &v1beta1.GenericJob{ObjectMeta: meta}).Build()
		r := &Reconciler{
			Registration: framework.Registration{
				Autoscales: true, MirrorTensorBoard: func(client.Object, *v1beta1.DependentStatus) {}, Mirror: func(client.Object, v1beta1.GenericJobStatus) error { return nil },
				Phase: func(client.Object) v1beta1.JobPhase { return phase }, CompletionTime: func(client.Object) *metav1.Time { return nil },
			},
			Client: c, Live: c, Kind: kind, Memory: &Memory{}, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Recorder: events.NewFakeRecorder(10),
		}
		_, err := r.reconcile(t.Context(), job, framework.Program{}, errors.New("spec.replicas: is wrong"))
		require.NoError(t, err)
		require.Equal(t, over, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(scaler), scaler)), phase)
		require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(board), board))
	}
}
