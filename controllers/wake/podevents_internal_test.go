package wake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// notedQueue notes with which delay what is added.
type notedQueue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	added map[types.NamespacedName]time.Duration
}

func (q *notedQueue) AddAfter(r ctrl.Request, after time.Duration) { q.added[r.NamespacedName] = after }

func jobNamed(name string) *v1beta1.GenericJob {
	return &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u"}}
}

func podOf(job string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: job + "-pod", ResourceVersion: "1"}}
	if job != "" {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			jobNamed(job), v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))}
	}
	return pod
}

func TestEventsOfPodsAreGathered(t *testing.T) {
	changed := podOf("a")
	changed.ResourceVersion, changed.Status.Phase = "2", corev1.PodRunning
	same := podOf("a")
	same.ResourceVersion = "2"
	job := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }
	for name, c := range map[string]struct {
		send func(q *notedQueue)
		want map[types.NamespacedName]time.Duration
	}{
		"a pod appears": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Create(t.Context(), event.CreateEvent{Object: podOf("a")}, q)
			},
			map[types.NamespacedName]time.Duration{job("a"): debounce}},
		"a pod was there when the operator started": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Create(t.Context(), event.CreateEvent{Object: podOf("a"), IsInInitialList: true}, q)
			},
			map[types.NamespacedName]time.Duration{job("a"): 0}},
		"a pod changes": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Update(t.Context(), event.UpdateEvent{ObjectOld: podOf("a"), ObjectNew: changed}, q)
			},
			map[types.NamespacedName]time.Duration{job("a"): debounce}},
		"a pod changes in what no reconcile reads": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Update(t.Context(), event.UpdateEvent{ObjectOld: podOf("a"), ObjectNew: same}, q)
			},
			map[types.NamespacedName]time.Duration{}},
		"a pod changes hands": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Update(t.Context(), event.UpdateEvent{ObjectOld: podOf("a"), ObjectNew: podOf("b")}, q)
			},
			map[types.NamespacedName]time.Duration{job("a"): debounce, job("b"): debounce}},
		"a pod goes": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Delete(t.Context(), event.DeleteEvent{Object: podOf("a")}, q)
			},
			map[types.NamespacedName]time.Duration{job("a"): debounce}},
		"a pod of nobody": {
			func(q *notedQueue) {
				PodEvents(NewOwnWrites(nil)).Create(t.Context(), event.CreateEvent{Object: podOf("")}, q)
			},
			map[types.NamespacedName]time.Duration{}},
	} {
		t.Run(name, func(t *testing.T) {
			q := &notedQueue{added: map[types.NamespacedName]time.Duration{}}
			c.send(q)
			require.Equal(t, c.want, q.added)
		})
	}
}
