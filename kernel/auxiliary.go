package kernel

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// runsInVain reports whether a pod of a finished job would run for ever. An auxiliary pod would if no replica that it serves runs any more. Any other
// pod would if its code has not started, and auxiliary replicas serve it: they will be gone when it starts.
func (a *acting) runsInVain(t *roster.Type, pod podstate.Pod) bool {
	switch {
	case pod.HasEnded():
		return false
	case t.Auxiliary:
		return !a.servedMayRun
	default:
		return a.ledger.AuxiliaryReplicas() > 0 && !pod.HasStarted()
	}
}

// anyServedMayRun reports whether some replica that is not auxiliary runs, or may yet run. It may end by itself, as long as auxiliary replicas serve
// it. Even a replica that has not started counts: runsInVain has it deleted, but if the delete is refused, it may start.
func anyServedMayRun(replicas *roster.Roster) bool {
	return slices.ContainsFunc(replicas.Types, func(t roster.Type) bool {
		return !t.Auxiliary && slices.ContainsFunc(t.Pods, func(p *corev1.Pod) bool {
			if p == nil || p.DeletionTimestamp != nil {
				return false
			}
			return !podstate.Pod{Pod: p, Template: &t.Template}.HasEnded()
		})
	})
}
