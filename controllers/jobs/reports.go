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
	"github.com/genericjob/genericjob/kernel/ending"
)

// maxPushes is how many orders are pushed at once, over all jobs.
const maxPushes = 100

// reportsOf asks those pods that are awaited and have not arrived yet, and from time to time those that may hold code that has failed.
func (r *Reconciler) reportsOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) map[types.UID]inplace.Report {
	m, awaited := r.memory.Of(job), barrier.Awaited(job, pods)
	known := m.arrivedOf(awaited)
	var unknown []*corev1.Pod
	for _, pod := range awaited {
		if _, is := known[pod.UID]; !is {
			unknown = append(unknown, pod)
		}
	}
	maps.Copy(known, r.answers(ctx, job, arrival, unknown, true))
	m.arrived = nil
	if len(awaited) > 0 {
		m.arrived = known
	}
	holding := barrier.MayHold(job, pods, now)
	asks := len(holding) > 0 && !now.Before(m.nextHeld) // many reconciles come in between
	maps.Copy(known, r.answers(ctx, job, heldEnd, holding, asks))
	if asks {
		m.nextHeld = now.Add(barrier.HoldInterval(len(holding)))
	}
	return known
}

// progressOf asks one pod of a job how far it has come, if it is time.
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
	return r.answers(ctx, job, codeProgress, []*corev1.Pod{pod}, asks)[pod.UID]
}

// answers are those of pods, as far as they have come. If asks is true, the pods are asked, beside this reconcile.
func (r *Reconciler) answers(ctx context.Context, job *v1beta1.GenericJob, about subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
	switch {
	case r.Reports == nil:
		return r.questions.ask(ctx, &r.memory.Of(job).rounds, job, about, pods, asks)
	case !asks || len(pods) == 0:
		return nil
	default:
		return r.Reports(ctx, job, pods)
	}
}

// push tells a pod an order that the apiserver has just stored. Nobody waits for that: whom it does not reach, the volume shows it.
func (r *Reconciler) push(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o inplace.Order) {
	if r.Push != nil {
		r.Push(ctx, job, pod, o)
		return
	}
	if ending.Address(pod) == "" {
		return
	}
	one := questionFor(job, pod, &o) // the job changes by what this reconcile writes
	select {
	case r.pushSlots <- struct{}{}:
		go func() {
			defer func() { <-r.pushSlots }()
			_, _ = one.ask(context.WithoutCancel(ctx))
		}()
	default:
	}
}
