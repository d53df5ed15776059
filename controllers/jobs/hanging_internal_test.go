package jobs

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
)

// hangs is a cluster whose storage hangs: all pods of its jobs stay Terminating, on nodes that are Ready. It counts how often each node is asked.
type hangs struct {
	client.Reader
	asked map[string]int
	inAll int
	// onAsked is called for each question.
	onAsked func()

	clock      *clocktesting.FakePassiveClock
	reconciler reconcile.Reconciler
}

// Get implements client.Reader, for reads that are live.
func (h *hangs) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	node, ok := o.(*corev1.Node)
	if !ok {
		return h.Reader.Get(ctx, key, o, opts...)
	}
	h.asked[key.Name]++
	h.inAll++
	if h.onAsked != nil {
		h.onAsked()
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return nil
}

// newHangs returns such a cluster with jobs that have so many pods each. The first pod of each is on node 0, the next on node 1.
func newHangs(t *testing.T, pods int, jobs ...string) *hangs {
	t.Helper()
	index := func(client.Object) []string { return nil }
	cluster := fake.NewClientBuilder().WithScheme(newScheme(t)).WithStatusSubresource(&v1beta1.GenericJob{}).WithIndex(&corev1.Service{}, indexJob, index)
	of := map[string][]*corev1.Pod{}
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	over := metav1.NewTime(start.Add(-time.Hour))
	for _, name := range jobs {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
		job.Status.CompletionTime = &over // then nothing but its pods is left to do
		cluster.WithObjects(job)
		for i := range pods {
			pod := podOf(job.UID, fmt.Sprintf("%s-%d", name, i))
			pod.OwnerReferences[0].Name, pod.Finalizers = name, nil // it is not to be let go: only its node matters
			pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &over, new(int64(30))
			pod.Spec.NodeName = fmt.Sprintf("node-%d", i)
			of[name] = append(of[name], pod)
		}
	}
	c := cluster.Build()
	h := &hangs{Reader: c, asked: map[string]int{}, clock: clocktesting.NewFakePassiveClock(start)}
	h.reconciler = Reconciler{
		Client: c, Live: h, Clock: h.clock, Recorder: events.NewFakeRecorder(1000), Settings: kernel.Settings{ForceReplaceAfter: 5 * time.Minute},
		pods: func(job types.NamespacedName) ([]*corev1.Pod, error) { return of[job.Name], nil },
	}.Controller().Reconciler
	return h
}

// reconcile makes one reconcile of a job. It returns in what time the next one comes, and how many nodes were asked.
func (h *hangs) reconcile(t *testing.T, job string) (after time.Duration, asked int) {
	t.Helper()
	before := h.inAll
	result, err := h.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: job}})
	require.NoError(t, err)
	return result.RequeueAfter, h.inAll - before
}

// One reconcile would hold a worker for some ten seconds, and thirty such jobs would hold all.
func TestOfThreeThousandNodesAReconcileAsksFew(t *testing.T) {
	const nodes, most = 3000, 50
	h := newHangs(t, nodes, "large")
	for turn := range nodes / most {
		after, asked := h.reconcile(t, "large")
		require.Equal(t, most, asked)
		require.Len(t, h.asked, most*(turn+1), "each asks other nodes")
		if turn < nodes/most-1 {
			require.Equal(t, calls.RetrySoon, after, "the rest is asked soon")
			h.clock.SetTime(h.clock.Now().Add(after))
		} else {
			require.Zero(t, after, "all are known")
		}
	}
}

// Pods may come and go meanwhile, and events come at any time.
func TestHoweverOftenAJobIsReconciledEachNodeHasItsTurn(t *testing.T) {
	h := newHangs(t, 220, "large")
	for range 100 {
		_, asked := h.reconcile(t, "large")
		require.LessOrEqual(t, asked, 50)
		h.clock.SetTime(h.clock.Now().Add(1700 * time.Millisecond))
	}
	for i := range 220 {
		require.GreaterOrEqual(t, h.asked[fmt.Sprintf("node-%d", i)], 20, "node %d of %v", i, h.asked)
	}
}

func TestJobsShareWhatANodeAnswers(t *testing.T) {
	h := newHangs(t, 40, "one", "other")
	_, asked := h.reconcile(t, "one")
	require.Equal(t, 40, asked)
	h.clock.SetTime(h.clock.Now().Add(time.Second))
	after, asked := h.reconcile(t, "other")
	require.Zero(t, asked)
	require.LessOrEqual(t, after, 5*time.Second, "it looks itself when the answers are old")
	_, asked = h.reconcile(t, "one")
	require.Zero(t, asked, "an event does not ask again")

	h.clock.SetTime(h.clock.Now().Add(after))
	after, asked = h.reconcile(t, "other")
	require.Equal(t, 40, asked)
	require.Zero(t, after)
	_, asked = newHangs(t, 1, "one").reconcile(t, "one")
	require.Equal(t, 1, asked, "another operator has a memory of its own")
}

func TestNoNodeIsAskedWhenTheOperatorEnds(t *testing.T) {
	h := newHangs(t, 40, "job")
	ctx, end := context.WithCancel(t.Context())
	h.onAsked = func() {
		if h.inAll == 3 {
			end()
		}
	}
	_, err := calls.GracefulShutdown{Reconciler: h.reconciler}.Reconcile(ctx, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "job"}})
	require.NoError(t, err)
	require.Equal(t, 3, h.inAll)
}
