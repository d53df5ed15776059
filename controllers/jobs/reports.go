package jobs

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// furthestInterval is how often a pod is asked for its highest step, while that is needed.
const furthestInterval = 500 * time.Millisecond

// maxPushes is how many orders are pushed at once, over all jobs.
const maxPushes = 100

// reportsOf returns the reports of pods that have arrived at the barrier, and of pods that hold ends.
func (r *Reconciler) reportsOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) map[types.UID]inplace.Report {
	reports := maps.Clone(r.arrivals(ctx, job, barrier.Awaited(job, pods)))
	maps.Copy(reports, r.heldEnds(ctx, job, barrier.MayHold(job, pods, now), now))
	return reports
}

// arrivals returns the reports of awaited pods that have arrived at the barrier, and remembers them. It asks only the others.
func (r *Reconciler) arrivals(ctx context.Context, job *v1beta1.GenericJob, awaited []*corev1.Pod) map[types.UID]inplace.Report {
	m := r.memory.Of(job)
	arrived := m.arrivedOf(awaited)
	var missing []*corev1.Pod
	for _, pod := range awaited {
		if _, ok := arrived[pod.UID]; !ok {
			missing = append(missing, pod)
		}
	}
	maps.Copy(arrived, r.answers(ctx, job, Arrival, missing, true))
	m.arrived = arrived
	if len(awaited) == 0 { // the barrier is open, so the reports are of no use any more
		m.arrived = nil
	}
	return arrived
}

// heldEnds returns the reports of pods that may hold an end. It asks them from time to time, because many reconciles come in between.
func (r *Reconciler) heldEnds(ctx context.Context, job *v1beta1.GenericJob, holding []*corev1.Pod, now time.Time) map[types.UID]inplace.Report {
	m := r.memory.Of(job)
	asks := len(holding) > 0 && !now.Before(m.nextHeld)
	if asks {
		m.nextHeld = now.Add(barrier.HoldInterval(len(holding)))
	}
	return r.answers(ctx, job, HeldEnd, holding, asks)
}

// progressOf asks one pod of a job for the code's step and loss, if it is time, and returns its report.
func (r *Reconciler) progressOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) inplace.Report {
	pod := kernel.ProgressPod(job, pods, now)
	if pod == nil {
		return inplace.Report{}
	}
	m := r.memory.Of(job)
	asks := !now.Before(m.nextProgress)
	if asks {
		m.nextProgress = now.Add(kernel.AskInterval(job, now))
	}
	return r.answers(ctx, job, CodeProgress, []*corev1.Pod{pod}, asks)[pod.UID]
}

// furthestOf asks one pod of a job for its highest step, if code of the job has just failed, and returns its report.
func (r *Reconciler) furthestOf(ctx context.Context, w kernel.World) inplace.Report {
	pod := kernel.FurthestPod(w)
	if pod == nil {
		return inplace.Report{}
	}
	m := r.memory.Of(w.Job)
	asks := !w.Now.Before(m.nextFurthest) // FurthestPod returns the pod in several reconciles: the end stays in view for a while
	if asks {
		m.nextFurthest = w.Now.Add(furthestInterval)
	}
	return r.answers(ctx, w.Job, CodeFurthest, []*corev1.Pod{pod}, asks)[pod.UID]
}

// answers returns the answers of pods that have come so far. If asks is true, the pods are asked, outside of this reconcile.
func (r *Reconciler) answers(ctx context.Context, job *v1beta1.GenericJob, about Subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
	if r.Reports != nil {
		return r.Reports(ctx, job, about, pods, asks)
	}
	return r.questions.ask(ctx, &r.memory.Of(job).rounds, job, about, pods, asks)
}

// push tells a pod an order that the apiserver has just stored. Nobody waits for that. A pod that it does not reach sees the order in its volume,
// some time later.
func (r *Reconciler) push(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o inplace.Order) {
	if r.Push != nil {
		r.Push(ctx, job, pod, o)
		return
	}
	if podstate.Address(pod) == "" {
		return
	}
	one := questionFor(job, pod, &o) // made here and not below, because this reconcile may change the job meanwhile
	select {
	case r.pushSlots <- struct{}{}:
		go func() {
			defer func() { <-r.pushSlots }()
			_, _ = one.ask(context.WithoutCancel(ctx))
		}()
	default:
	}
}
