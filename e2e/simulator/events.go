package simulator

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// reconcileQueue is the queue of the GenericJobs' reconciles, as far as the handlers of events use it.
type reconcileQueue struct {
	workqueue.TypedRateLimitingInterface[ctrl.Request]
	operator *operator
}

// AddAfter has a reconcile made after a while.
func (q reconcileQueue) AddAfter(r ctrl.Request, after time.Duration) {
	q.operator.add(request{v1beta1.KindGenericJob, r.Name}, after)
}

// notice queues the reconciles that follow from a change that the cache of its kind has seen. Was is what the cache had before.
func (o *operator) notice(was client.Object, ch change) {
	is := ch.cached
	if is == nil {
		is = ch.gone
	}
	switch {
	case ch.cached == nil && was == nil: // an informer says nothing of the end of what it never had
	case ch.kind == kindPod:
		o.noticePod(was, ch)
	default:
		o.noticeOwners(was)
		o.noticeOwners(is)
	}
}

// noticePod hands the event of a pod to the operator's own handler.
func (o *operator) noticePod(was client.Object, ch change) {
	handler, ctx, q := o.genericJobs.Pods, o.life.ctx, reconcileQueue{operator: o}
	switch {
	case ch.cached == nil:
		handler.Delete(ctx, event.DeleteEvent{Object: ch.gone}, q)
	case was == nil:
		handler.Create(ctx, event.CreateEvent{Object: ch.cached}, q)
	default:
		handler.Update(ctx, event.UpdateEvent{ObjectOld: was, ObjectNew: ch.cached}, q)
	}
}

// noticeOwners queues what SetUp would queue for an event of another kind.
func (o *operator) noticeOwners(x client.Object) {
	if x == nil {
		return
	}
	training := ""
	if o.life.framework != nil {
		training = o.life.framework.kind
	}
	switch kind := kindOf(x); kind {
	case v1beta1.KindGenericJob:
		o.genericJobs.Jobs.Create(event.CreateEvent{Object: x})
		o.add(request{kind, x.GetName()}, 0)
		if training != "" {
			o.add(request{training, x.GetName()}, 0)
		}
	case training:
		o.add(request{kind, x.GetName()}, 0)
	default:
		if ref := metav1.GetControllerOf(x); ref != nil && o.reconcilers[ref.Kind] != nil {
			o.add(request{ref.Kind, ref.Name}, 0)
		}
	}
}
