package controllers

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/ending"
)

// manyOrders are under way at a time, of all jobs.
const manyOrders = 100

// arrivals are reports of pods that have reached the attempt of which they were told, by job: they need not be asked again. What is
// forgotten is asked for again. Nil remembers nothing.
type arrivals struct {
	mu    sync.Mutex
	byJob map[types.NamespacedName]map[types.UID]inplace.Report
	// next is when to ask for a job's progress again, and listen when for ends that are held.
	next, listen map[types.NamespacedName]time.Time
}

// reportsOf asks those pods that are awaited and have not arrived yet, and from time to time those that may hold code that has failed.
func (r *GenericJob) reportsOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) map[types.UID]inplace.Report {
	key, awaited := client.ObjectKeyFromObject(job), kernel.Awaited(job, pods)
	known := r.arrived.of(key, awaited)
	var unknown []*corev1.Pod
	for _, pod := range awaited {
		if _, is := known[pod.UID]; !is {
			unknown = append(unknown, pod)
		}
	}
	maps.Copy(known, r.answers(ctx, job, arrival, unknown, true))
	r.arrived.keep(key, awaited, known)
	holding := kernel.MayHold(job, pods, now)
	asks := len(holding) > 0 && r.arrived.mayListen(key, now)
	maps.Copy(known, r.answers(ctx, job, heldEnd, holding, asks))
	if asks {
		r.arrived.listenAgain(key, now.Add(kernel.HoldInterval(len(holding))))
	}
	return known
}

// answers are those of pods, as far as they have come. If asks is true, the pods are asked, beside this pass.
func (r *GenericJob) answers(ctx context.Context, job *v1beta1.GenericJob, about subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
	switch {
	case r.Reports == nil && r.questions == nil:
		return nil
	case r.Reports == nil:
		return r.questions.ask(ctx, job, about, pods, asks)
	case !asks || len(pods) == 0:
		return nil
	default:
		return r.Reports(ctx, job, pods)
	}
}

// of are the reports that are known of pods.
func (a *arrivals) of(job types.NamespacedName, pods []*corev1.Pod) map[types.UID]inplace.Report {
	if a == nil {
		return map[types.UID]inplace.Report{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := map[types.UID]inplace.Report{}
	for _, pod := range pods {
		if report, is := a.byJob[job][pod.UID]; is && report.Attempt == ending.MarksOf(pod).At() {
			known[pod.UID] = report
		}
	}
	return known
}

// keep remembers the reports of a job whose replicas wait for each other, and forgets those of one in which none does.
func (a *arrivals) keep(job types.NamespacedName, pods []*corev1.Pod, known map[types.UID]inplace.Report) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(pods) == 0 {
		delete(a.byJob, job)
		return
	}
	if a.byJob == nil {
		a.byJob = map[types.NamespacedName]map[types.UID]inplace.Report{}
	}
	a.byJob[job] = known
}

// mayListen says whether a job may be asked for ends that are held: many passes come in between.
func (a *arrivals) mayListen(job types.NamespacedName, now time.Time) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !now.Before(a.listen[job])
}

// listenAgain notes when it may be next.
func (a *arrivals) listenAgain(job types.NamespacedName, at time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listen == nil {
		a.listen = map[types.NamespacedName]time.Time{}
	}
	a.listen[job] = at
}

// push tells a pod an order that the apiserver has just stored. Nobody waits for that: whom it does not reach, the volume shows it.
func (r *GenericJob) push(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o inplace.Order) {
	if r.Push != nil {
		r.Push(ctx, job, pod, o)
		return
	}
	if ending.Address(pod) == "" {
		return
	}
	one := questionFor(job, pod, &o) // the job changes by what this pass writes
	select {
	case r.couriers <- struct{}{}:
		go func() {
			defer func() { <-r.couriers }()
			_, _ = one.ask(context.WithoutCancel(ctx))
		}()
	default:
	}
}
