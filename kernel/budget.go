package kernel

import (
	"slices"

	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/status"
)

// applyLimits returns the restarts that the limits allow, in the order in which the replicas ended, and the ends that are final.
//
// With restartScope Job one restart replaces all replicas. So the first restart that is allowed covers all ends of that second and later. An end that
// came earlier stays final: what one reconcile sees together has the same result as what several see one by one. If a rule fails the job by an end
// of that second, that end stays final, too.
//
// It judges copies. What joinCountedHang changes is in pending and final, and not in ended. There an end in a counted hang is still a failure, and
// may be the first one.
func applyLimits(draft ledger.Draft, ended []*end, h hang) (pending, final []end) {
	budget := draft.SharedRestartsLeft()
	for _, judged := range ended {
		e := *judged
		if h.includes(&e) {
			e.joinCountedHang()
		}
		if !e.mayRunAgain || e.isCounted() && budget == 0 {
			final = append(final, e)
			continue
		}
		pending = append(pending, e)
		h.noteIfHang(&e)
		if e.isCounted() && budget > 0 {
			budget--
		}
	}
	if draft.RestartsTogether() && len(pending) > 0 {
		return restartTogether(pending, final)
	}
	return pending, final
}

// restartTogether returns the one restart of all replicas, and the ends that stay final despite it.
func restartTogether(pending, final []end) (one, left []end) {
	first := slices.IndexFunc(pending, func(e end) bool { return e.isCounted() || e.countsAs == ledger.Excepted })
	if first < 0 {
		first = max(0, slices.IndexFunc(pending, func(e end) bool { return !e.isExcused })) // this one says what really happened
		return pending[first : first+1], final
	}
	left = slices.DeleteFunc(final, func(e end) bool {
		later := byEnd(e.pod, pending[first].pod)
		return later > 0 || later == 0 && !e.failsJob()
	})
	return pending[first : first+1], left
}

// failForGood writes into the ledger that replicas are not run again, and returns their failures.
func failForGood(draft ledger.Draft, final []end) (failures []status.Failure) {
	for _, e := range final {
		if e.hasSucceeded() { // under policy Always, with none left of the restarts that all share
			draft.Succeed(e.account, e.rank)
			continue
		}
		draft.Fail(e.account, e.rank)
		why := status.FailedForGood(e.account, e.countsAs == ledger.Disruption, draft.IsWithinLimit(e.account, e.rank))
		switch {
		case e.failsJob():
			why = e.whyJobFails
		case e.rule != "": // the rule would restart it, whatever its policy
			why = status.NoRestartsLeft
		}
		failures = append(failures, status.Failure{Why: e.why, Then: why, ReplicaFailure: e.pod.FailureWithCause()})
	}
	return failures
}
