package simulator

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/jobs"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// reports are what pods report whose code a wrapper runs. The answers to every second question about the progress come with the next reconcile. Then
// they are older than what has happened since.
func (o *operator) reports(ctx context.Context, job *v1beta1.GenericJob, about jobs.Subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
	late := underway{job.UID, about}
	got := o.late[late]
	delete(o.late, late)
	switch {
	case !asks:
		return got
	case about == jobs.CodeProgress && o.life.now.Unix()%2 == 0:
		o.late[late] = o.ask(ctx, pods)
		return got
	default:
		return o.ask(ctx, pods)
	}
}

// underway names the answers about one subject that the pods of a job have given, and that no reconcile has seen yet.
type underway struct {
	job   types.UID
	about jobs.Subject
}

// ask asks pods for their reports. Each is told the order with which the operator knows it.
func (o *operator) ask(ctx context.Context, pods []*corev1.Pod) map[types.UID]inplace.Report {
	got := map[types.UID]inplace.Report{}
	for _, p := range pods {
		_ = o.call(ctx, "asks "+p.Name, func() error { // who does not answer is asked again
			if r := o.life.answers(p); r != nil && !podstate.RestartsInPlace(p) {
				got[p.UID] = *r
				return nil
			}
			w, now := o.connect(p)
			if w == nil {
				return errTimeout
			}
			o.life.hears(now, w, podstate.NumbersOf(p).Order)
			if w.at >= 0 {
				got[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: w.at, Exits: w.exits, Held: w.held, Step: o.life.furthest(now), Furthest: o.life.furthest(now)}
				o.life.hear(now, w)
			}
			return nil
		})
	}
	return got
}

// push tells a pod an order; it may be lost, or come late.
func (o *operator) push(ctx context.Context, _ *v1beta1.GenericJob, p *corev1.Pod, order inplace.Order) {
	_ = o.call(ctx, "tells "+p.Name+" "+order.String(), func() error {
		w, now := o.connect(p)
		if w == nil {
			return errTimeout
		}
		o.life.hears(now, w, &order)
		return nil
	})
}

// connect is the wrapper of a pod, if it can be reached, and the pod as it is now.
func (o *operator) connect(p *corev1.Pod) (*wrapper, *corev1.Pod) {
	l := o.life
	now, ok := l.api.get(keyOf(p)).(*corev1.Pod)
	if !ok || now.UID != p.UID || l.lost[now.Spec.NodeName] {
		return nil, nil
	}
	w := l.wraps(now)
	if w == nil || w.down {
		return nil, nil
	}
	return w, now
}

// hears gives a wrapper an order. It must be one that the apiserver has stored: what its pod does by it is told from what it did
// before by the annotation.
func (l *Life) hears(p *corev1.Pod, w *wrapper, o *inplace.Order) {
	if o == nil {
		return
	}
	if o.After(orderOf(p)) {
		l.truth.violated("a pod hears an order that is not stored", "%s hears %s, and has %s", p.Name, o, orderOf(p))
	}
	if w.take(*o); l.tape.DueIf(w.order.Attempt > w.ran, 2) {
		l.obeyOrder(p, w)
	}
}

// take keeps an order, unless a later one is known; in its volume, so that it outlives the container.
func (w *wrapper) take(o inplace.Order) {
	if o.After(w.order) {
		w.order = o
	}
}
