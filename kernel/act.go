package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// todo is what is to be done, and when to look again.
type todo struct {
	actions          []Action
	typesLackingPods []string      // types of which more pods are missing than actions create
	recheckAfter     time.Duration // 0 if only a change can ask for more
}

func (t *todo) do(verb Verb, pod *corev1.Pod, reason string) {
	t.actions = append(t.actions, Action{Verb: verb, Pod: pod, Reason: reason})
}

// wakeAfter has the job looked at again after a time; 0 asks for nothing. Functions that answer a question do not call it. They return after what time
// their answer may change, and their callers pass that on.
func (t *todo) wakeAfter(d time.Duration) { t.recheckAfter = soonest(t.recheckAfter, d) }

func (t todo) creates() bool {
	return slices.ContainsFunc(t.actions, func(a Action) bool { return a.Verb.Creates() })
}

func (t todo) changes() bool {
	return slices.ContainsFunc(t.actions, func(a Action) bool { return !a.Verb.Creates() })
}

// acting collects what is to be done. Of the planning it changes nothing.
type acting struct {
	*planning
	todo
	ledger       *ledger.Ledger // the draft as it is now, to be read
	hasSucceeded bool           // the job has succeeded, or does now
	servedMayRun bool           // some replica that is not auxiliary runs, or may yet run
}

// listActions lists what the caller is to do about each pod, and which objects it is to create. It reads the ledger as this reconcile leaves it, but
// for times that tell adds. The status has the same ledger before the caller acts, unless its write is postponed.
func (p *planning) listActions() todo {
	l, v := p.draft.Ledger, p.verdict
	a := &acting{
		planning: p, ledger: l, hasSucceeded: succeeds(p.Job, v),
		servedMayRun: l.AuxiliaryReplicas() > 0 && anyServedMayRun(p.replicas), todo: todo{actions: releaseOrphans(p.World)},
	}
	for t, rank := range p.replicas.Replicas() {
		pod := t.Pods[rank]
		if pod == nil {
			continue
		}
		if v.IsOver() {
			a.forFinishedJob(t, rank, t.Pod(rank))
		} else {
			a.forUnfinishedJob(t, rank, t.Pod(rank))
		}
	}
	for _, s := range p.replicas.ScaledDown {
		a.discard(s.Pod, "it was scaled away")
	}
	a.releaseUnclaimed()
	if v.IsOver() || v.StopsPods() {
		a.deleteGroups()
	}
	a.keepWorkload(v)
	switch {
	case v.IsOver():
		a.expire()
	case v.Course == verdict.Run && len(p.Orphans) == 0: // orphans may still have the names of new pods
		a.createServiceAndGroup()
		a.createMissing()
	}
	a.lookAgain()
	return a.todo
}

// lookAgain has the job looked at again while replicas wait for each other, or their wrappers may hold ends.
func (a *acting) lookAgain() {
	if a.verdict.Course == verdict.Run {
		for _, wait := range barrier.RequeueTimes(a.barrierInputs(), a.Pods, a.ledger, a.replicas) {
			a.wakeAfter(wait)
		}
	}
}

// forUnfinishedJob does what the state of a pod asks for, in a job that has not finished.
func (a *acting) forUnfinishedJob(t *roster.Type, rank int, pod podstate.Pod) {
	if t.HasFinished(rank) && !a.replicas.IsToBeReplaced(t, rank) {
		a.releaseFinished(pod, "its outcome is in the ledger")
		return
	}
	switch a.replicas.State(t, rank) {
	case podstate.Superseded:
		a.discard(pod.Pod, "its time is over")
	case podstate.Unwanted:
		a.stop(pod, a.whyUnwanted(t, rank))
	case podstate.Terminating:
		if pod.LacksMark() {
			a.do(MarkPod, pod.Pod, "somebody deletes it before it has finished")
		}
		a.wakeAfter(a.judge.UntilOverdue(pod.Pod))
	case podstate.AwaitingPhase:
		a.lookAfter(pod)
	case podstate.Alive:
		a.lookAfter(pod)
		if !a.stopOutsideGang(pod) {
			a.stopUnplaced(pod.Pod)
		}
		a.orderPod(t, rank)
	case podstate.Behind:
		a.orderPod(t, rank)
	case podstate.Succeeded, podstate.Failed, podstate.Disrupted, podstate.Lost, podstate.FailedInPod, podstate.Stranded:
		// The end is not counted yet. A later reconcile counts it.
	}
}

// stop stops a pod that still lives. If its main container has done its work, the pod gets no mark: when no grace period is left, a mark would hide
// that.
func (a *acting) stop(pod podstate.Pod, reason string) {
	verb := StopPod
	if pod.MainHasSucceeded() {
		verb = DeletePod
	}
	a.do(verb, pod.Pod, reason)
}

// whyUnwanted says why the operator stops a pod that still lives.
func (a *acting) whyUnwanted(t *roster.Type, rank int) string {
	if a.replicas.IsToBeReplaced(t, rank) {
		return "it is replaced"
	}
	if a.ledger.IsUnstarted() {
		return "the spec or the run mode has changed before its code started"
	}
	return "the run mode is now " + a.ledger.Mode()
}

// lookAfter looks after a pod that is to stay, though its container may have ended. If somebody deletes the pod, its phase may never say how it ended,
// because its node may not answer. So the job is looked at again when the pod may be overdue.
func (a *acting) lookAfter(pod podstate.Pod) {
	if pod.DeletionTimestamp != nil {
		a.wakeAfter(a.judge.UntilOverdue(pod.Pod))
		return
	}
	if left := a.judge.UntilStranded(pod); left > 0 { // the kubelet may start its container again
		a.wakeAfter(left)
		return
	}
	a.endAdded(pod) // the kubelet then says why the code has ended
}

// discard deletes a pod whose end does not matter any more.
func (a *acting) discard(pod *corev1.Pod, reason string) {
	a.release(pod, reason)
	a.deletePod(pod, reason)
}

// deletePod deletes a pod, by force if its node has not ended it in time.
func (a *acting) deletePod(pod *corev1.Pod, reason string) {
	switch {
	case a.judge.NeedsForce(pod):
		a.do(ForceDeletePod, pod, reason)
	case pod.DeletionTimestamp == nil:
		a.do(DeletePod, pod, reason)
	default:
		a.wakeAfter(a.judge.UntilOverdue(pod))
	}
}
