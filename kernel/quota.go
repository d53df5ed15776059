package kernel

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/queue"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// insufficient says why a job that its queue has admitted queues again.
func insufficient(f facts, queueName string) string {
	if isShort(f.queue.Workload, f.ledger) {
		return status.ShortOfQuota(queueName)
	}
	return status.OtherQuota(queueName)
}

// isShort reports whether the job's queue has quota for fewer replicas than are left. The job was scaled up, or starts over after some had
// finished and their quota was given back.
func isShort(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return slices.ContainsFunc(l.Types(), func(a *ledger.Account) bool { return a.Left() > queue.Free(w, a.Type) })
}

// isOfOtherPods reports whether pods are to be made that need other quota than the job's queue has admitted: the spec was edited before they were.
// Of pods that are there nobody asks.
func isOfOtherPods(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return (l.Edited() || l.Mode() == spec.ModeQueued) && !queue.Fits(w, requestsOf(l))
}

// requestsOf are what the replicas need that have not finished.
func requestsOf(l *ledger.Ledger) (requests []queue.Request) {
	for _, t := range l.Types() {
		requests = append(requests, queue.Request{Type: t.Type, Left: t.Left(), Template: &t.Template})
	}
	return requests
}
