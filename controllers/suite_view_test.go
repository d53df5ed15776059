package controllers_test

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/jobs"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// view is what a cache holds at some time, as old as the test wants. A nil job is one that the cache does not have.
type view struct {
	job      *v1beta1.GenericJob
	pods     []corev1.Pod
	services []corev1.Service
	now      time.Time // the operator's clock; zero is the real one
}

// look takes a view of a job as it is now.
func (c *cluster) look(name string) view {
	c.t.Helper()
	v := view{job: c.job(name)}
	pods, services := &corev1.PodList{}, &corev1.ServiceList{}
	ours := []client.ListOption{client.InNamespace(c.ns), client.HasLabels{v1beta1.LabelJobUID}}
	require.NoError(c.t, c.List(c.ctx, pods, ours...))
	require.NoError(c.t, c.List(c.ctx, services, ours...))
	for i := range pods.Items {
		if owner := metav1.GetControllerOf(&pods.Items[i]); owner != nil && owner.Name == name {
			v.pods = append(v.pods, *podstate.Trim(&pods.Items[i]))
		}
	}
	v.services = services.Items
	return v
}

// reconciled is what came of a reconcile.
type reconciled struct {
	result ctrl.Result
	err    error
	calls  []call
	events []string
}

// reconcile makes one reconcile of the operator that reads from the view and writes to the apiserver.
func (c *cluster) reconcile(name string, v view) reconciled {
	c.t.Helper()
	n := &network{}
	cfg := rest.CopyConfig(operator)
	cfg.Wrap(n.wrap)
	live, err := client.NewWithWatch(cfg, client.Options{Scheme: c.Scheme()})
	require.NoError(c.t, err)
	var now clock.PassiveClock = clock.RealClock{}
	if !v.now.IsZero() {
		now = testingclock.NewFakePassiveClock(v.now)
	}
	recorder := events.NewFakeRecorder(100)
	r := jobs.Reconciler{
		Client: interceptor.NewClient(live, v.reads()), Live: live, Recorder: recorder, Clock: now,
	}.Controller().Reconciler
	out := reconciled{}
	out.result, out.err = r.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: c.ns, Name: name}})
	out.calls = n.calls
	close(recorder.Events)
	for e := range recorder.Events {
		out.events = append(out.events, e)
	}
	return out
}

// reads answer reads of cached kinds from the view.
func (v view) reads() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, live client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			job, ok := o.(*v1beta1.GenericJob)
			switch {
			case !ok:
				return live.Get(ctx, key, o, opts...)
			case v.job == nil:
				return apierrors.NewNotFound(v1beta1.GroupVersion.WithResource("genericjobs").GroupResource(), key.Name)
			}
			v.job.DeepCopyInto(job)
			return nil
		},
		List: func(ctx context.Context, live client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			switch list := o.(type) {
			case *corev1.PodList:
				list.Items = slices.Clone(v.pods)
			case *corev1.ServiceList:
				list.Items = slices.Clone(v.services)
			default:
				return live.List(ctx, o, opts...)
			}
			return nil
		},
	}
}

// settle makes reconciles with fresh views until one changes nothing.
func (c *cluster) settle(name string) {
	c.t.Helper()
	c.until("a reconcile that changes nothing", func() bool {
		p := c.reconcile(name, c.look(name))
		require.NoError(c.t, p.err)
		return len(p.calls) == 0 && p.result.RequeueAfter == 0
	})
}

// now puts pods into a phase at once, without the kubelet.
func (c *cluster) now(job *v1beta1.GenericJob, replica string, code int32) corev1.Pod {
	c.t.Helper()
	pod := c.pods(job)[replica]
	require.NotEmpty(c.t, pod.Name, replica)
	require.NoError(c.t, c.End(c.ctx, &pod, code))
	return pod
}

// unlock takes all finalizers off a pod and deletes it at once, as a careless person would.
func (c *cluster) unlock(pod corev1.Pod) {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"finalizers": nil}})
	require.NoError(c.t, err)
	handle := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	require.NoError(c.t, c.Patch(c.ctx, handle, client.RawPatch("application/merge-patch+json", patch)))
	require.NoError(c.t, client.IgnoreNotFound(c.Delete(c.ctx, handle, client.GracePeriodSeconds(0))))
}
