package jobs

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
)

// progressOf asks one pod of a job how far it has come, if it is time; what it does not answer is not told.
func (r *Reconciler) progressOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) inplace.Report {
	pod := kernel.Teller(job, pods, now)
	if pod == nil {
		return inplace.Report{}
	}
	asks := r.arrived.mayAsk(client.ObjectKeyFromObject(job), now)
	return r.answers(ctx, job, codeProgress, []*corev1.Pod{pod}, asks)[pod.UID]
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
	if a.next == nil {
		a.next = map[types.NamespacedName]time.Time{}
	}
	a.next[job] = now.Add(kernel.ProgressInterval)
	return true
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
