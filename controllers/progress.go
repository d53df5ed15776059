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

// progressOf asks one pod of a job how far it has come, if it is time; what it does not answer is not told.
func (r *GenericJob) progressOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) inplace.Report {
	pod := kernel.ProgressPod(job, pods, now)
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

// unwatched are the warnings about replicas of a training job of whose code nobody looks for signs of life.
func unwatched(program framework.Program) (list []kernel.Event) {
	for _, why := range spec.Unwatched(&program.Spec, false) {
		list = append(list, kernel.Event{Warning: true, Reason: v1beta1.ReasonFieldIgnored, Message: "spec.runPolicy.heartbeat is set, but " + why + "."})
	}
	return list
}
