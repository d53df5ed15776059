package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// For how long replicas have lived. A life of ten minutes ends a streak of short ones. Where all replicas restart together, they also live together:
// from when enough of them run until the first of them ends. That is the productive time of status.time, so the rule is the same:
//
//   - Enough are all that have not finished; with minMember, that many.
//   - Who comes late adds no time before, and takes none away once enough run. So does who is added by a scale.
//   - The code of a pod has started and ended when its containers did, and not when the operator saw that. If nobody knows when, it was now.

// livedFor returns how long a replica had lived that has ended, or all together if they restart together.
func livedFor(draft ledger.Draft, e *end, l *loss, now time.Time) time.Duration {
	since, until := l.ranSince, l.beganAt
	if !draft.RestartsTogether() || e.account.Auxiliary {
		since, until = beganToRun(e), trainedUntil(e)
	}
	switch {
	case since.IsZero():
		return 0
	case until.IsZero():
		until = now
	}
	return max(0, until.Sub(since))
}

// beganToRun returns when the code of a replica started; zero if it did not. If the kubelet does not say when, it is since the kubelet had the pod. In
// place, a container may have started before: it waits for its delay to end, or for the operator.
func beganToRun(e *end) time.Time {
	at, started := e.pod.StartedAt()
	if !started {
		return time.Time{}
	}
	if at.IsZero() && e.pod.Status.StartTime != nil {
		at = e.pod.Status.StartTime.Time
	}
	return latest(at, e.account.DelayedUntil(e.rank))
}

// runTogetherSince returns since when enough replicas run together, and whether they do. Ended are the pods that have ended in this reconcile, by
// their names. With these it answers for the time before.
func runTogetherSince(job *v1beta1.GenericJob, l *ledger.Ledger, replicas *roster.Roster, ended map[string]podstate.Pod) (since time.Time, enough bool) {
	starts, finished := startsOf(replicas, ended)
	need := l.Unfinished() - l.AuxiliaryReplicas() + finished
	if s := job.Spec.Scheduler; s != nil && s.MinMember != nil {
		need = min(need, int(*s.MinMember))
	}
	if !l.BarrierIsOpen() || len(starts) < need {
		return time.Time{}, false
	}
	if need > 0 {
		slices.SortFunc(starts, time.Time.Compare)
		since = starts[need-1]
	}
	return latest(since, l.RestartTime()), true
}

// startsOf returns when the code of each replica started that runs, or that ran until this reconcile. Finished is how many of these have finished now.
func startsOf(replicas *roster.Roster, ended map[string]podstate.Pod) (starts []time.Time, finished int) {
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		if pod == nil || t.Auxiliary {
			continue
		}
		p, hasEnded := ended[pod.Name]
		switch {
		case hasEnded && t.HasFinished(rank):
			finished++
		case !hasEnded && !isRunning(replicas, t, rank, ended != nil):
			continue
		}
		if p.Pod == nil {
			p = t.Pod(rank)
		}
		if at, all := p.StartedAt(); all {
			starts = append(starts, at)
		}
	}
	return starts, finished
}

// isRunning reports whether the pod of a replica runs code of the present attempt. One that is being deleted ran before, and need not run for long.
func isRunning(replicas *roster.Roster, t *roster.Type, rank int, before bool) bool {
	if t.HasFinished(rank) || t.Pods[rank].Status.Phase != corev1.PodRunning {
		return false
	}
	state := replicas.State(t, rank)
	return state == podstate.Alive || before && state == podstate.Terminating
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
