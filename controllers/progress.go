package controllers

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// deafInterval is how long a job is not asked for its progress again that has not answered: a NetworkPolicy may be in the way, and
// then each question costs a pass reportTimeout.
const deafInterval = 5 * time.Minute

// progressOf asks one pod of a job how far it has come, if it is time; what it does not answer is not told.
func (r *GenericJob) progressOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) (told inplace.Report) {
	pod := kernel.Teller(job, pods, now)
	if pod == nil || !r.arrived.mayAsk(client.ObjectKeyFromObject(job), now) {
		return told
	}
	asks := r.Reports
	if asks == nil {
		asks = askAll
	}
	told, has := asks(ctx, job, []*corev1.Pod{pod})[pod.UID]
	if !has {
		r.arrived.isDeaf(client.ObjectKeyFromObject(job), now)
	}
	return told
}

// mayAsk says whether a job may be asked for its progress now, and notes that it is.
func (a *arrivals) mayAsk(job types.NamespacedName, now time.Time) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Before(a.next[job]) {
		return false
	}
	a.wait(job, now.Add(kernel.ProgressInterval))
	return true
}

// isDeaf notes that a job has not answered.
func (a *arrivals) isDeaf(job types.NamespacedName, now time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wait(job, now.Add(deafInterval))
}

// wait must be called with the lock held.
func (a *arrivals) wait(job types.NamespacedName, until time.Time) {
	if a.next == nil {
		a.next = map[types.NamespacedName]time.Time{}
	}
	a.next[job] = until
}

// forget forgets a job that is gone.
func (a *arrivals) forget(job types.NamespacedName) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.next, job)
	delete(a.listen, job)
	delete(a.byJob, job)
}

// unwatched are the warnings about replicas of a training job of whose code nobody looks for signs of life.
func unwatched(program framework.Program) (list []kernel.Event) {
	for _, why := range spec.Unwatched(&program.Spec, false) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.heartbeat is set, but " + why + "."})
	}
	return list
}
