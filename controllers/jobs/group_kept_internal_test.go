package jobs

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// A webhook may refuse the deletion of the PodGroup of a paused job. No event tells when that ends, so the operator asks again, ever less often.
func TestAPodGroupThatMayNotBeDeletedIsAskedForEverLessOften(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u", Generation: 1}}
	job.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	job.Spec.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: ptr.To[int32](2)}}
	group := build.GangObject(job, build.Group{MinMember: 2}, build.GangVersions(job)[0])
	var refusal error = apierrors.NewForbidden(schema.GroupResource{Resource: "podgroups"}, "job", nil)
	var writes, deletions int
	c := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(job, group).WithStatusSubresource(job).
		WithIndex(&corev1.Service{}, indexJob, wake.JobOf).WithInterceptorFuncs(interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, _ ...client.DeleteOption) error {
			if deletions++; refusal != nil {
				return refusal
			}
			return c.Delete(ctx, o)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*metav1.PartialObjectMetadataList); ok { // pods that are not over; the fake client knows no such field
				return nil
			}
			return c.List(ctx, list, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			writes++
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
	}).Build()
	clock, told := clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), events.NewFakeRecorder(1000)
	r := &Reconciler{
		Client: c, Live: c, Clock: clock, Recorder: told, memory: &remember.Jobs[remembered]{}, limiter: &calls.Limiter{}, rules: &calls.RestartRules{},
		pods: func(client.ObjectKey) ([]*corev1.Pod, error) { return nil, nil },
		Reports: func(context.Context, *v1beta1.GenericJob, Subject, []*corev1.Pod, bool) map[types.UID]inplace.Report {
			return nil
		},
	}
	key := client.ObjectKeyFromObject(job)
	reconcile := func() time.Duration {
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key})
		require.NoError(t, err)
		require.NoError(t, c.Get(t.Context(), key, job))
		return result.RequeueAfter
	}
	reconciles := 0
	for end := clock.Now().Add(time.Hour); clock.Now().Before(end); reconciles++ {
		after := reconcile()
		require.Positive(t, after, "nobody else asks again")
		require.LessOrEqual(t, writes, 2, "the status, and the refusal")
		clock.SetTime(clock.Now().Add(after))
	}
	require.Less(t, reconciles, 80)
	require.Less(t, deletions, 80)
	require.True(t, status.IsBlocked(&job.Status, v1beta1.ReasonRefused), job.Status.Conditions)
	require.Contains(t, status.Condition(job.Status.Conditions, v1beta1.ConditionBlocked).Message, "delete PodGroup job")
	require.Equal(t, spec.ModePaused, job.Status.Mode)

	refusal = nil
	require.Equal(t, calls.RetrySoon, reconcile())
	require.Zero(t, reconcile())
	require.Nil(t, status.Condition(job.Status.Conditions, v1beta1.ConditionBlocked))
}
