package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/ledger"
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

// untilServedFail returns how long to wait before auxiliary replicas that were disrupted are replaced, in a job whose replicas restart together. Others
// may be about to fail because they have lost them. Such a failure is excused only beside the disruption.
func (o *outcomes) untilServedFail(l *ledger.Ledger, replicas *roster.Roster, now time.Time) (wait time.Duration) {
	if !l.RestartsTogether() || replicas.UnfinishedWithPods() == 0 {
		return 0
	}
	for _, e := range o.ended {
		if !e.account.Auxiliary {
			return 0
		}
		if e.countsAs == ledger.Disruption {
			wait = max(wait, leftOf(causeWithin, e, now))
		}
	}
	return wait
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
