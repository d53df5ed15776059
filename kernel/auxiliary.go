package kernel

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
)

// runsInVain reports whether a pod that has not ended would run for ever when its job has finished. An auxiliary pod does if none of those that it
// serves runs any more. Any other does if auxiliary ones serve it and it has not begun: they will be gone when it does.
func (a *acting) runsInVain(t *roster.Type, pod ending.Pod) bool {
	switch {
	case pod.Ended():
		return false
	case t.Auxiliary:
		return !a.served
	default:
		return a.ledger.Auxiliary() > 0 && !pod.HasStarted()
	}
}

// anyIsServed reports whether a replica runs that is not auxiliary, or may yet. Such a replica may end by itself, as long as auxiliary ones serve
// it. One that has not begun is deleted first: if that is refused, it may begin.
func anyIsServed(replicas *roster.Roster) bool {
	return slices.ContainsFunc(replicas.Types, func(t roster.Type) bool {
		return !t.Auxiliary && slices.ContainsFunc(t.Pods, func(p *corev1.Pod) bool {
			if p == nil || p.DeletionTimestamp != nil {
				return false
			}
			return !ending.Pod{Pod: p, Template: &t.Template}.Ended()
		})
	})
}
