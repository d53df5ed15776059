package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// isHeldBack reports whether the startPolicy of a replica's type forbids to create its pod now. OthersReady is what othersAreReady reports.
func (a *acting) isHeldBack(t *roster.Type, rank int, othersReady bool) bool {
	switch {
	case othersReady || t.StartsAtOnce():
		return false
	case t.StartPolicy == v1beta1.StartRestartAfterOthers:
		return a.ledger.Attempt(t.Account, rank) > 0
	default:
		return true
	}
}

// othersAreReady reports whether all replicas that others wait for, by their startPolicy, are Ready or have finished. If all pods are placed
// together, or if replicas wait for each other in their pods, no pod may be missing. Then they count as ready.
func (a *acting) othersAreReady() bool {
	if !slices.ContainsFunc(a.replicas.Types, func(t roster.Type) bool { return !t.StartsAtOnce() }) ||
		len(build.GangVersions(a.Job)) > 0 || !a.ledger.BarrierIsOpen() {
		return true
	}
	for t, rank := range a.replicas.Replicas() {
		if t.Auxiliary || !t.StartsAtOnce() || t.HasFinished(rank) {
			continue
		}
		if t.Pods[rank] == nil || a.replicas.State(t, rank) != podstate.Alive || !t.Pod(rank).IsReady() {
			return false
		}
	}
	return true
}

// createMissing creates the pods of unfinished replicas that have none. Of each type it creates at most as many as the caller can: a job of a few
// kilobytes may ask for tens of thousands.
func (a *acting) createMissing() {
	attemptMayBegin, until := a.jobAttemptMayBegin()
	a.wakeAfter(until)
	othersReady := a.othersAreReady()
	for i := range a.replicas.Types {
		t := &a.replicas.Types[i]
		if !t.Auxiliary && (!attemptMayBegin || !a.mayBegin(t)) {
			continue
		}
		if a.createMissingOf(t, othersReady) {
			a.typesLackingPods = append(a.typesLackingPods, t.Type)
		}
	}
}

// createMissingOf creates the missing pods of a type, and reports whether more are missing than the caller can create. OthersReady is what
// othersAreReady reports.
func (a *acting) createMissingOf(t *roster.Type, othersReady bool) (more bool) {
	room, most := a.room(t), cmp.Or(a.MaxCreates, t.N)
	for rank, pod := range t.Pods {
		if pod != nil || t.HasFinished(rank) || a.isHeldBack(t, rank, othersReady) {
			continue
		}
		if room <= 0 {
			break // old pods that still run have the quota, or the next reconcile queues for more
		}
		room--
		wait, replaced := a.ledger.Delay(t.Account, rank, a.Now)
		if wait > 0 {
			a.wakeAfter(wait)
			continue
		}
		if most == 0 {
			more = true
			continue // not break: the delay of a later rank may be over sooner
		}
		most--
		reason := "it is missing"
		if replaced {
			reason = "it is replaced"
		}
		a.actions = append(a.actions, Action{Verb: CreatePod, Type: t.Type, Rank: rank, Attempt: a.ledger.Attempt(t.Account, rank), Reason: reason})
	}
	return more
}

// jobAttemptMayBegin reports whether the pods of the next job attempt may be created. If all replicas restart together, the old pods must be gone,
// because a new collective must not meet members of the old one. The restart delay must be over, too. Until is after what time the answer may change
// by itself; 0 if it does not.
func (a *acting) jobAttemptMayBegin() (may bool, until time.Duration) {
	if !a.ledger.RestartsTogether() {
		return true, 0
	}
	wait := a.ledger.NextDelay(a.Now)
	mustGo, untilGone := a.replicas.HasPodsThatMustGo()
	return wait == 0 && !mustGo, soonest(wait, untilGone)
}

// mayBegin reports whether new pods of a type may be created. While replicas wait for each other, they may if they can wait in their pods, too, or if
// no earlier code runs any more.
func (a *acting) mayBegin(t *roster.Type) bool {
	return a.ledger.BarrierIsOpen() || a.start.barrier.MayCreateUnwrapped || build.RestartsInPlace(a.Job, t.ReplicaSpec, a.Settings.WrapperImage)
}

// createServiceAndGroup asks for what the pods need before they start: the job's Service and the gang scheduler's objects.
func (a *acting) createServiceAndGroup() {
	if want := build.Service(a.Job); want != nil {
		a.provideService(want)
	}
	a.applyGroup()
}

func (a *acting) provideService(want *corev1.Service) {
	i := slices.IndexFunc(a.Services, func(have *corev1.Service) bool {
		return have.Name == want.Name && metav1.IsControlledBy(have, a.Job)
	})
	switch {
	case i < 0:
		a.actions = append(a.actions, Action{Verb: CreateService, Service: want, Reason: "the pods find each other by it"})
	case !build.SamePorts(a.Services[i], want):
		want.UID = a.Services[i].UID
		a.actions = append(a.actions, Action{Verb: UpdateService, Service: want, Reason: "spec.service.ports has changed"})
	}
}
