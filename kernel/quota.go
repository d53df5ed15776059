package kernel

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// insufficient says why a job queues again though its queue has admitted it.
func insufficient(f facts, queueName string) string {
	if isShort(f.kueue.Workload, f.ledger) {
		return status.ShortOfQuota(queueName)
	}
	if node := assignedToBad(f.job, f.kueue.Workload, f.ledger); node != "" {
		return status.BoundForBadNode(queueName, node)
	}
	return status.OtherQuota(queueName)
}

// isShort reports whether the job's queue has quota for fewer replicas than are left. That happens if the job was scaled up, or starts over after some
// replicas had finished, whose quota was given back.
func isShort(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return slices.ContainsFunc(l.Accounts(), func(a *ledger.Account) bool { return a.Unfinished() > kueue.Free(w, a.Type) })
}

// isOfOtherPods reports whether new pods will need other quota than the job's queue has admitted, because the spec was edited before they were
// created. Pods that exist already are not compared.
func isOfOtherPods(w *unstructured.Unstructured, l *ledger.Ledger) bool {
	return (l.IsEdited() || l.Mode() == spec.ModeQueued) && !kueue.Fits(w, requestsOf(l, kueue.Avoided(w)))
}

// requestsOf returns what the unfinished replicas need from the queue, for pods that avoid these nodes.
func requestsOf(l *ledger.Ledger, avoids []string) (requests []kueue.Request) {
	for _, t := range l.Accounts() {
		requests = append(requests, kueue.Request{Type: t.Type, Left: t.Unfinished(), Template: &t.Template, Avoids: avoids})
	}
	return requests
}

// assignedToBad returns a bad node that Kueue has chosen for some pods of the job; "" if there is none. A Workload that
// excludes the node already is kept: a second one would be admitted alike. So is one that somebody else has made. Only the job's own failures count:
// what others tell of a node stops no pod that runs there.
func assignedToBad(job *v1beta1.GenericJob, w *unstructured.Unstructured, l *ledger.Ledger) string {
	bad := l.OwnBadNodes()
	if len(bad) == 0 || w == nil || spec.Prebuilt(job) != "" {
		return ""
	}
	var types []string
	for _, t := range l.Accounts() {
		types = append(types, t.Type)
	}
	excluded := kueue.Avoided(w)
	for _, node := range bad {
		if !slices.Contains(excluded, node) && kueue.AssignsTo(w, node, types) {
			return node
		}
	}
	return ""
}
