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
		return status.ShortOfPlaces(queueName)
	}
	return status.OtherPlaces(queueName)
}

// isShort reports whether the job's queue has places for fewer replicas than are left: it was scaled up, or starts over after some had
// finished and their places were given back.
func isShort(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return slices.ContainsFunc(l.Types(), func(a *ledger.Account) bool { return a.Left() > queue.Free(w, a.Type) })
}

// isOfOtherPods reports whether pods are to be made that need other places than the job's queue has admitted: the spec was edited before they were.
// Of pods that are there nobody asks.
func isOfOtherPods(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return (l.Edited() || l.Mode() == spec.ModeQueued) && !queue.Fits(w, placesOf(l))
}

// placesOf are the places that the replicas need that have not finished.
func placesOf(l *ledger.Ledger) (places []queue.Places) {
	for _, t := range l.Types() {
		places = append(places, queue.Places{Type: t.Type, Left: t.Left(), Template: &t.Template})
	}
	return places
}
