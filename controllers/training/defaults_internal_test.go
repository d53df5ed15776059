package training

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// defaulting is a reconciler beside an apiserver that answers writes of the defaults of a job as it is told to.
type defaulting struct {
	*Reconciler
	clock  *clocktesting.FakePassiveClock
	told   *events.FakeRecorder
	answer error
}

func newDefaulting(t *testing.T) *defaulting {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	d := &defaulting{clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), told: events.NewFakeRecorder(10)}
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "team", UID: "uid"}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(job).WithStatusSubresource(job).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return d.answer
		},
	}).Build()
	d.Reconciler = &Reconciler{
		Registration: framework.Registration{
			New:     func() client.Object { return &v1beta1.PyTorchTrainingJob{} },
			Compile: func(client.Object) (framework.Program, error) { return framework.Program{}, nil },
			Default: func(client.Object) func(client.Object) {
				return func(o client.Object) { o.SetLabels(map[string]string{"default": "one"}) }
			},
			Mirror:         func(client.Object, v1beta1.GenericJobStatus) error { return nil },
			Phase:          func(client.Object) v1beta1.JobPhase { return v1beta1.JobPending },
			CompletionTime: func(client.Object) *metav1.Time { return nil },
		},
		Client: c, Live: c, Recorder: d.told, Clock: d.clock, Memory: &Memory{},
		Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob),
	}
	return d
}

// made reconciles the job, and reports whether it has a GenericJob.
func (d *defaulting) made(t *testing.T) (bool, ctrl.Result, error) {
	t.Helper()
	result, err := d.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "team", Name: "job"}})
	found := d.Client.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "job"}, &v1beta1.GenericJob{})
	require.NoError(t, client.IgnoreNotFound(found))
	return found == nil, result, err
}

// TestAJobRunsWithoutDefaultsThatAreRefused: a webhook that denies without a code answers 400, and the job never began.
func TestAJobRunsWithoutDefaultsThatAreRefused(t *testing.T) {
	for name, refusal := range map[string]error{
		"a role":                      apierrors.NewForbidden(genericJobs, "job", errors.New("no right")),
		"a policy":                    apierrors.NewInvalid(v1beta1.GroupVersion.WithKind("PyTorchTrainingJob").GroupKind(), "job", nil),
		"a webhook":                   &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusBadRequest, Message: "admission webhook denied the request"}},
		"an object that is too large": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	} {
		d := newDefaulting(t)
		d.answer = refusal
		made, _, err := d.made(t)
		require.NoError(t, err, name)
		require.True(t, made, name)
	}
}

// TestDefaultsThatFailForLongAreTold: what may pass by itself is waited for, but not without a word.
func TestDefaultsThatFailForLongAreTold(t *testing.T) {
	d := newDefaulting(t)
	d.answer = apierrors.NewInternalError(errors.New("failed calling webhook"))
	made, _, err := d.made(t)
	require.False(t, made)
	require.ErrorIs(t, err, d.answer)
	require.Empty(t, d.told.Events)
	d.clock.SetTime(d.clock.Now().Add(10 * time.Second))
	_, result, err := d.made(t)
	require.NoError(t, err)
	require.Equal(t, 10*time.Second, result.RequeueAfter)
	require.Contains(t, <-d.told.Events, "failed calling webhook")
	d.answer = nil
	made, result, err = d.made(t)
	require.NoError(t, err)
	require.False(t, made, "the write leads to the next reconcile")
	require.Zero(t, result)
}
