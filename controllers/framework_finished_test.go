package controllers_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

func TestAFinishedTrainingJobCreatesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.train("done", chiefAndTwo)
	gj := c.awaitGenericJob(job)
	c.finish(gj, "chief-0", 0)
	c.awaitTraining("done", v1beta1.JobSucceeded)
	n.forget()
	require.NoError(t, c.Delete(c.ctx, gj))
	c.until("the GenericJob is gone", func() bool { return c.gone(gj) })
	// A later job has gone its whole way, so the reconciles that follow from the deletion are over.
	later := c.train("later", chiefAndTwo)
	c.finish(c.awaitGenericJob(later), "chief-0", 0)
	c.awaitTraining("later", v1beta1.JobSucceeded)
	require.True(t, c.gone(gj))
	for _, call := range n.seen("POST", "/genericjobs") { // a stale cache may ask twice for the same one
		require.Contains(t, call.body, `"uid":"`+string(later.UID)+`"`)
	}
}

// The operator's cache may be older than what it wrote itself before it restarted.
func TestAStaleViewOfAFinishedTrainingJobCreatesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("stale", chiefAndTwo)
	stale := job.DeepCopy()
	job.Status.Phase = v1beta1.JobSucceeded
	require.NoError(t, c.Status().Update(c.ctx, job))
	calls, result := c.reconcileOver(stale)
	require.Empty(t, calls)
	require.NotZero(t, result.RequeueAfter)
	require.NoError(t, c.Delete(c.ctx, job))
	calls, _ = c.reconcileOver(stale)
	require.Empty(t, calls, "it is gone altogether")
}

// reconcileOver makes one reconcile over a training job as it is given, and returns what it changed. The cache does not show objects of
// the kinds that are hidden.
func (c *cluster) reconcileOver(job *v1beta1.TensorFlowTrainingJob, hidden ...client.Object) ([]call, ctrl.Result) {
	c.t.Helper()
	n := &network{}
	cfg := rest.CopyConfig(operator)
	cfg.Wrap(n.wrap)
	live, err := client.NewWithWatch(cfg, client.Options{Scheme: c.Scheme()})
	require.NoError(c.t, err)
	r := &training.Reconciler{
		Registration: framework.Register(tensorflow.Translator),
		Client:       interceptor.NewClient(live, showing(job, hidden)), Live: live,
		Recorder: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(c.began.Add(c.ahead)),
		Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob), Memory: &training.Memory{},
	}
	result, err := r.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)})
	require.NoError(c.t, err)
	return n.calls, result
}

// showing answers reads of a training job with this view of it.
func showing(job *v1beta1.TensorFlowTrainingJob, hidden []client.Object) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, live client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if have, ok := o.(*v1beta1.TensorFlowTrainingJob); ok {
				job.DeepCopyInto(have)
				return nil
			}
			for _, h := range hidden {
				if reflect.TypeOf(h) == reflect.TypeOf(o) {
					return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
				}
			}
			return live.Get(ctx, key, o, opts...)
		},
	}
}
