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
// It decides about copies. What joinCountedHang changes is in allowed and final, and not in ended. There an end in a counted hang is still a failure, and
// may be the first one.
func applyLimits(draft ledger.Draft, ended []*end, h hang) (allowed, final []end) {
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
		allowed = append(allowed, e)
		h.noteIfHang(&e)
		if e.isCounted() && budget > 0 {
			budget--
		}
	}
	if draft.RestartsTogether() && len(allowed) > 0 {
		return restartTogether(allowed, final)
	}
	return allowed, final
}

// restartTogether returns the one restart of all replicas, and the ends that stay final despite it.
func restartTogether(allowed, final []end) (restart, staysFinal []end) {
	first := slices.IndexFunc(allowed, func(e end) bool { return e.isCounted() || e.countsAs == ledger.Excepted })
	if first < 0 {
		first = firstDisruption(allowed)
		return allowed[first : first+1], final
	}
	staysFinal = slices.DeleteFunc(final, func(e end) bool {
		later := byEnd(e.pod, allowed[first].pod)
		return later > 0 || later == 0 && !e.failsJob()
	})
	return allowed[first : first+1], staysFinal
}

// firstDisruption returns the index of the disruption that restarts all. It is one that is not excused, if there is any: that says what really
// happened. The disruption of an auxiliary replica is the last choice, because it restarts that one alone. What is excused because of it would be
// counted later.
func firstDisruption(allowed []end) int {
	restartsAll := func(e end) bool { return !e.account.Auxiliary }
	if i := slices.IndexFunc(allowed, func(e end) bool { return restartsAll(e) && !e.isExcused }); i >= 0 {
		return i
	}
	return max(0, slices.IndexFunc(allowed, restartsAll))
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
