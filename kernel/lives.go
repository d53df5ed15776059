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
//   - The code of a pod has started and ended when its containers did, and not when the operator saw that. If nobody knows when it ended, it was now. If
//     nobody knows when it started, it was when the kubelet took the pod.

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

// beganToRun returns when the code of a replica started; zero if it did not. In place, a container may have started before: it waits for its delay to
// end, or for the operator.
func beganToRun(e *end) time.Time {
	at, started := codeStartedAt(e.pod)
	if !started {
		return time.Time{}
	}
	return latest(at, e.account.DelayedUntil(e.rank))
}

// codeStartedAt returns when the last container of a pod started, and whether all have. Of a container that it does not find any more, the kubelet
// does not say when. Then it is since the kubelet had the pod.
func codeStartedAt(pod podstate.Pod) (at time.Time, started bool) {
	at, started = pod.StartedAt()
	if started && at.IsZero() && pod.Status.StartTime != nil {
		at = pod.Status.StartTime.Time
	}
	return at, started
}

// runTogetherSince returns since when enough replicas run together, and whether they do.
func runTogetherSince(job *v1beta1.GenericJob, l *ledger.Ledger, replicas *roster.Roster) (since time.Time, enough bool) {
	var starts []time.Time
	for t, rank := range replicas.Replicas() {
		if !t.Auxiliary && runsIn(replicas, t, rank, podstate.Alive) {
			starts = addStart(starts, t.Pod(rank))
		}
	}
	return enoughSince(job, l, starts, 0)
}

// ranTogetherSince answers for the time before this reconcile. Ended are the pods that have ended in it, by their names, as they were then. One that
// is being deleted ran before, and need not run for long.
func ranTogetherSince(job *v1beta1.GenericJob, l *ledger.Ledger, replicas *roster.Roster, ended map[string]*corev1.Pod) (since time.Time, enough bool) {
	var starts []time.Time
	finished := 0
	for t, rank := range replicas.Replicas() {
		if t.Auxiliary || t.Pods[rank] == nil {
			continue
		}
		switch pod := ended[t.Pods[rank].Name]; {
		case pod != nil:
			starts = addStart(starts, podstate.Pod{Pod: pod, Template: &t.Template})
			if t.HasFinished(rank) {
				finished++
			}
		case runsIn(replicas, t, rank, podstate.Alive, podstate.Terminating):
			starts = addStart(starts, t.Pod(rank))
		}
	}
	return enoughSince(job, l, starts, finished)
}

// runsIn reports whether the pod of a replica runs code of the present attempt, and its state is one of some.
func runsIn(replicas *roster.Roster, t *roster.Type, rank int, states ...podstate.State) bool {
	pod := t.Pods[rank]
	return pod != nil && !t.HasFinished(rank) && pod.Status.Phase == corev1.PodRunning && slices.Contains(states, replicas.State(t, rank))
}

// addStart adds when the code of a pod started, if it has.
func addStart(starts []time.Time, pod podstate.Pod) []time.Time {
	if at, started := codeStartedAt(pod); started {
		starts = append(starts, at)
	}
	return starts
}

// enoughSince returns since when enough replicas run together, by when each started that runs, and whether they do. Finished is how many of these the
// ledger has as finished: they ran, too.
func enoughSince(job *v1beta1.GenericJob, l *ledger.Ledger, starts []time.Time, finished int) (since time.Time, enough bool) {
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

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
