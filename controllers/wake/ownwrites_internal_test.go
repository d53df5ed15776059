package wake

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestAReconcileWaitsForTheLastWritesToShow(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(1000, 0))
	w := NewOwnWrites(clock)
	job := types.NamespacedName{Namespace: "ns", Name: "a"}
	reconciles := 0
	r := w.Before(reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		reconciles++
		return ctrl.Result{RequeueAfter: time.Hour}, nil
	}))
	reconcile := func() time.Duration {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: job})
		require.NoError(t, err)
		return result.RequeueAfter
	}
	show := func(version string) {
		pod := podOf("b")
		pod.ResourceVersion = version
		PodEvents(w).Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, nil)
	}
	written := func(version string) {
		pod := podOf("a")
		pod.ResourceVersion = version
		w.wrote(ofPod, job, pod)
	}
	show("7")
	require.Equal(t, time.Hour, reconcile(), "nothing was written")

	written("10")
	written("9")
	show("9")
	require.Equal(t, lookAtWrites, reconcile())
	require.Equal(t, 1, reconciles)
	show("11")
	require.Equal(t, time.Hour, reconcile(), "shown: events come in the order of their versions, whosever they are")
	require.Empty(t, w.jobs, "nothing is left to be remembered")

	written("20")
	require.Equal(t, lookAtWrites, reconcile())
	clock.SetTime(clock.Now().Add(believeWrites))
	require.Equal(t, time.Hour, reconcile(), "what is not shown for so long may never be")

	written("not a number")
	require.Equal(t, time.Hour, reconcile())
}

func TestWritesOfPodsAndStatusesAreNoted(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, errors.Join(corev1.AddToScheme(scheme), v1beta1.AddToScheme(scheme)))
	owner := jobNamed("a")
	w := NewOwnWrites(testingclock.NewFakePassiveClock(time.Unix(1000, 0)))
	plain := fake.NewClientBuilder().WithScheme(scheme).WithObjects(owner).WithStatusSubresource(owner).Build()
	c := w.Of(plain)
	job := client.ObjectKeyFromObject(owner)

	pod := podOf("a")
	pod.ResourceVersion = ""
	require.NoError(t, c.Create(t.Context(), pod))
	require.Equal(t, version(pod), w.jobs[job].versions[ofPod])
	require.Error(t, c.Create(t.Context(), pod.DeepCopy()), "it exists")

	handle := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	require.NoError(t, c.Patch(t.Context(), handle, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))))
	require.Greater(t, version(handle), version(pod))
	require.Equal(t, version(handle), w.jobs[job].versions[ofPod])

	require.NoError(t, c.Get(t.Context(), job, owner))
	owner.Status.Running = "1/1"
	require.NoError(t, c.Status().Update(t.Context(), owner))
	require.Equal(t, version(owner), w.jobs[job].versions[ofJob])
	require.NotZero(t, version(owner))
}
