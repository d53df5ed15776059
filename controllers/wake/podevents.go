package wake

import (
	"bytes"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// debounce is how long the events of a job's pods are gathered before a reconcile looks at them. A reconcile costs as much as the job
// has pods, so 5,000 pods that end one after the other must not cost 5,000 reconciles. A tenth of a second is less than the
// kubelet takes to report the end of a container.
const debounce = 100 * time.Millisecond

// JobOf returns the name of the GenericJob, in the same namespace, that controls an object; nothing if none does. Labels do not count, because anyone
// can write them, with one exception. kubectl delete --cascade=orphan leaves pods that nobody controls and that our finalizer keeps. Reconciles of
// the job that their label names release them.
func JobOf(o client.Object) []string {
	ref := metav1.GetControllerOf(o)
	if name := o.GetLabels()[v1beta1.LabelJobName]; ref == nil && name != "" && slices.Contains(o.GetFinalizers(), v1beta1.FinalizerTracking) {
		return []string{name}
	}
	if ref == nil || ref.Kind != v1beta1.KindGenericJob || ref.APIVersion != v1beta1.GroupVersion.String() {
		return nil
	}
	return []string{ref.Name}
}

// PodEvents leads from a pod's event to a reconcile over its job. A reconcile looks at the whole job, so one that waits in the queue is enough for
// all events that come meanwhile.
func PodEvents(writes *OwnWrites) handler.EventHandler {
	enqueue := func(o client.Object, q workqueue.TypedRateLimitingInterface[ctrl.Request], after time.Duration) {
		for _, name := range JobOf(o) {
			q.AddAfter(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}, after)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			writes.see(ofPod, e.Object)
			after := debounce
			if e.IsInInitialList {
				after = 0 // its job is in the initial list too, and one reconcile will do for both
			}
			enqueue(e.Object, q, after)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			writes.see(ofPod, e.ObjectNew)
			if isNews(e.ObjectOld, e.ObjectNew) {
				enqueue(e.ObjectOld, q, debounce) // somebody may have taken its owner away
				enqueue(e.ObjectNew, q, debounce)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			writes.see(ofPod, e.Object)
			enqueue(e.Object, q, debounce)
		},
	}
}

// isNews reports whether a pod has changed in a field that the cache keeps, because a reconcile reads no others. It compares encoded pods, which
// takes a sixth of the time of reflection.
func isNews(old, now client.Object) bool {
	before, ok := old.(*corev1.Pod)
	if !ok {
		return true
	}
	after, ok := now.(*corev1.Pod)
	if !ok {
		return true
	}
	same := *before
	same.ResourceVersion = after.ResourceVersion
	a, err := same.Marshal()
	if err != nil {
		return true
	}
	b, err := after.Marshal()
	return err != nil || !bytes.Equal(a, b)
}
