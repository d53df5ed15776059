package kernel

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/roster"
)

// isHeldBack reports whether the pod of a replica may not be created yet, by its type's startPolicy. Others is whether the replicas that it
// waits for are there.
func (a *acting) isHeldBack(t *roster.Type, rank int, others bool) bool {
	switch {
	case others || t.StartsAtOnce():
		return false
	case t.StartPolicy == v1beta1.StartRestartAfterOthers:
		return a.ledger.Attempt(t.Account, rank) > 0
	default:
		return true
	}
}

// othersAreReady reports whether all replicas that others wait for, by their startPolicy, are Ready or have finished. Where all pods are
// placed together, or wait for each other in their pods, none may be missing: there they count as ready.
func (a *acting) othersAreReady() bool {
	if !slices.ContainsFunc(a.replicas.Types, func(t roster.Type) bool { return !t.StartsAtOnce() }) ||
		len(build.GangVersions(a.Job)) > 0 || !a.ledger.BarrierIsOpen() {
		return true
	}
	for i := range a.replicas.Types {
		t := &a.replicas.Types[i]
		if t.Auxiliary || !t.StartsAtOnce() {
			continue
		}
		for rank, pod := range t.Pods {
			if !t.Finished(rank) && (pod == nil || a.replicas.Ending(t, rank) != ending.Alive || !t.Pod(rank).IsReady()) {
				return false
			}
		}
	}
	return true
}
