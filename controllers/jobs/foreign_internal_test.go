package jobs

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/remember"
)

// foreign is a cluster with a job that another controller runs, and the operator's calls to the apiserver.
type foreign struct {
	*Reconciler
	job           *v1beta1.GenericJob
	clock         *clocktesting.FakePassiveClock
	mutex         sync.Mutex // releases run beside each other
	live          client.WithWatch
	patched       []string
	asked, writes int // live reads; writes other than patches
	answer        error
}

// newScheme returns the kinds of a fake client: GenericJobs, and those of the core.
func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	return scheme
}

// newForeign returns such a cluster with these pods. The job of the cache has this UID; the live one has "foreign".
func newForeign(t *testing.T, cached types.UID, pods ...*corev1.Pod) *foreign {
	t.Helper()
	f := &foreign{clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))}
	f.job = &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "foreign"}}
	f.job.Spec.ManagedBy = ptr.To(v1beta1.ManagedByMultiKueue)
	builder := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(f.job.DeepCopy())
	for _, pod := range pods {
		builder.WithObjects(pod)
	}
	f.job.UID = cached
	write := func() error { f.writes++; return nil }
	f.live = builder.WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			f.mutex.Lock()
			defer f.mutex.Unlock()
			if f.patched = append(f.patched, o.GetName()); f.answer != nil {
				return f.answer
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return write() },
		Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return write() },
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return write() },
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if job, ok := o.(*v1beta1.GenericJob); ok { // from the cache
				f.job.DeepCopyInto(job)
				return nil
			}
			f.asked++
			return c.Get(ctx, key, o, opts...)
		},
	}).Build()
	f.Reconciler = &Reconciler{
		Client: f.live, Live: f.live, Clock: f.clock, memory: &remember.Jobs[remembered]{}, limiter: &calls.Limiter{},
		pods: func(client.ObjectKey) (found []*corev1.Pod, err error) {
			list := &corev1.PodList{}
			err = f.live.List(t.Context(), list)
			for i := range list.Items {
				found = append(found, &list.Items[i])
			}
			return found, err
		},
	}
	return f
}

// podOf returns a pod of the job with a UID that our finalizer keeps. Somebody deletes it.
func podOf(owner types.UID, name string) *corev1.Pod {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: owner}}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, UID: types.UID(name), DeletionTimestamp: &metav1.Time{Time: time.Unix(900, 0)}, Finalizers: []string{v1beta1.FinalizerTracking},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, calls.GVKGenericJob)},
	}}
}

// reconcile makes one reconcile, and returns when the next one comes.
func (f *foreign) reconcile(t *testing.T) time.Duration {
	t.Helper()
	result, err := f.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(f.job)})
	require.NoError(t, err)
	require.Zero(t, f.writes, "nothing but pods is changed")
	return result.RequeueAfter
}

// Pods of an earlier job of the name would be Terminating for ever.
func TestAForeignJobLetsGoOfPodsOfAnEarlierOne(t *testing.T) {
	abandoned := podOf("earlier", "abandoned") // by kubectl delete --cascade=orphan
	abandoned.OwnerReferences, abandoned.Labels = nil, map[string]string{v1beta1.LabelJobUID: "earlier"}
	f := newForeign(t, "foreign", podOf("earlier", "left"), abandoned, podOf("foreign", "own"))
	require.Zero(t, f.reconcile(t))
	require.ElementsMatch(t, []string{"left", "abandoned"}, f.patched)
	pods, err := f.pods(client.ObjectKey{})
	require.NoError(t, err)
	require.Len(t, pods, 1, "the others are gone")
	require.Equal(t, []string{v1beta1.FinalizerTracking}, pods[0].Finalizers, "it is another controller's")

	asked := f.asked
	require.Zero(t, f.reconcile(t))
	require.Len(t, f.patched, 2)
	require.Equal(t, asked, f.asked, "a quiet one costs no call")
}

func TestAForeignJobWhosePodsCannotBeLetGoAsksEverLessOften(t *testing.T) {
	f := newForeign(t, "foreign", podOf("earlier", "left"))
	f.answer = apierrors.NewForbidden(corev1.Resource("pods"), "left", nil)
	reconciles := 0
	for end := f.clock.Now().Add(time.Hour); f.clock.Now().Before(end); reconciles++ {
		after := f.reconcile(t)
		require.Positive(t, after)
		f.clock.SetTime(f.clock.Now().Add(after))
	}
	require.Less(t, reconciles, 80)
	require.Len(t, f.patched, reconciles)
}

// The cache still has a foreign job that came before the live one.
func TestAForeignJobThatIsGoneLeavesThePodsOfTheNextAlone(t *testing.T) {
	f := newForeign(t, "before", podOf("foreign", "own"))
	require.Equal(t, calls.RetrySoon, f.reconcile(t))
	require.Empty(t, f.patched)
}
