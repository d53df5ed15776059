package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// acting gathers actions, and when to look again.
type acting struct {
	World
	ledger  *ledger.Ledger
	crew    *roster.Roster
	judge   ending.Judge
	runs    bool // the verdict is to run
	served  bool // a replica runs that auxiliary ones serve
	meets   barrier
	actions []Action
	more    []string // types of which more pods are missing than actions create
	wake    time.Duration
}

// act says what to do about every pod, and what is missing. It looks at the ledger as this pass leaves it, which is what
// the status will hold before any action is carried out.
func act(w World, l *ledger.Ledger, crew *roster.Roster, v verdict.Verdict, judge ending.Judge, meets barrier) (actions []Action, more []string, wake time.Duration) {
	a := &acting{
		World: w, ledger: l, crew: crew, judge: judge, runs: v.Course == verdict.Run, meets: meets,
		served: l.Auxiliary() > 0 && anyIsServed(crew), actions: letOrphansGo(w),
	}
	for i := range crew.Types {
		t := &crew.Types[i]
		for rank, pod := range t.Pods {
			if pod == nil {
				continue
			}
			if v.Over() {
				a.finished(t, rank, t.Pod(rank))
			} else {
				a.unfinished(t, rank, t.Pod(rank))
			}
		}
	}
	for _, s := range crew.Strays {
		a.discard(s.Pod, "it was scaled away")
	}
	if v.Over() || v.Stops() {
		a.ungroup()
	}
	a.inQueue(v)
	switch {
	case v.Over():
		a.expire()
	case v.Course == verdict.Run && len(w.Orphans) == 0: // else they may have the names
		a.provide()
		a.createMissing()
	}
	a.await()
	return a.actions, a.more, a.wake
}

func (a *acting) do(verb Verb, pod *corev1.Pod, reason string) {
	a.actions = append(a.actions, Action{Verb: verb, Pod: pod, Reason: reason})
}

func (a *acting) wakeAfter(d time.Duration) { a.wake = sooner(a.wake, d) }

// finished lets go of a pod of a job that has finished, and cleans up by the job's policy.
func (a *acting) finished(t *roster.Type, rank int, pod ending.Pod) {
	remove := a.crew.IsGarbage(t, rank)
	switch spec.CleanUp(a.Job) {
	case v1beta1.CleanUpAll:
		remove = true
	case v1beta1.CleanUpUnfinished:
		remove = remove || !pod.Ended() && !a.keepsLogs(t, rank, pod)
	case v1beta1.CleanUpNone:
		remove = remove || a.runsInVain(t, pod)
	}
	waits := a.waitsInVain(t, rank, pod)
	remove = remove || waits && pod.Spec.NodeName == "" // no kubelet would end it, and there are no logs
	switch {
	case remove:
		a.discard(pod.Pod, "the job has finished")
	case t.Finished(rank):
		a.settled(pod, "the job has finished")
	case waits:
		a.stopWaiting(pod)
		a.part(pod, "the job has finished")
	default:
		a.part(pod, "the job has finished")
	}
}

// settled lets go of the pod of a replica whose outcome is in the ledger. If it has not ended, it either comes a second time,
// made by a call that was carried out long after its caller had been killed and replaced, or this view of it is old. A
// stop tells the two apart: it changes the pod only as it was seen. A pod in which code was run again is none that comes a second time.
// Its end may have been held, which nobody asks for any more: it stays, with its logs.
func (a *acting) settled(pod ending.Pod, reason string) {
	switch {
	case pod.Ended() || pod.DeletionTimestamp != nil:
	case pod.Exits() > 0 || ending.MarksOf(pod.Pod).StartedOver() || a.judge.UntilStranded(pod) == 0:
		a.stopWaiting(pod)
		a.release(pod.Pod, reason)
		return
	default:
		a.do(StopPod, pod.Pod, "its replica has finished, with another pod")
		return
	}
	a.part(pod, reason)
}

// part takes the finalizer off a pod that stays, and has what the template does not know of end with the rest.
func (a *acting) part(pod ending.Pod, reason string) {
	a.end(pod) // before its version changes
	a.release(pod.Pod, reason)
}

// end has what the template does not know of end, if all the rest has.
func (a *acting) end(pod ending.Pod) {
	if deadline := pod.Spec.ActiveDeadlineSeconds; pod.Remains() && (deadline == nil || *deadline > 1) {
		a.do(EndPod, pod.Pod, "all that its template has has ended")
	}
}

func (a *acting) unfinished(t *roster.Type, rank int, pod ending.Pod) {
	if t.Finished(rank) && !a.crew.IsGarbage(t, rank) {
		a.settled(pod, "its outcome is in the ledger")
		return
	}
	switch a.crew.Ending(t, rank) {
	case ending.Garbage:
		a.discard(pod.Pod, "its time is over")
	case ending.Unwanted:
		reason := "the run mode is now " + a.ledger.Mode()
		if a.crew.IsGarbage(t, rank) {
			reason = "it is replaced"
		}
		a.do(StopPod, pod.Pod, reason)
	case ending.Leaving:
		if pod.LacksMark() {
			a.do(MarkPod, pod.Pod, "somebody deletes it before it has finished")
		}
		a.wakeAfter(a.judge.UntilOverdue(pod.Pod))
	case ending.Alive:
		a.attend(pod)
		a.move(pod.Pod)
		a.order(t, rank)
	case ending.Behind:
		a.order(t, rank)
	case ending.Succeeded, ending.Failed, ending.Disrupted, ending.Lost, ending.Exited, ending.Stranded:
		// Booked by a pass whose verdict left it for the next.
	}
}

// attend looks after a pod that is there to stay, but whose container may have ended.
func (a *acting) attend(pod ending.Pod) {
	if left := a.judge.UntilStranded(pod); left > 0 { // the kubelet may start its container again
		a.wakeAfter(left)
		return
	}
	a.end(pod) // the kubelet then says why the code has ended
}

// discard deletes a pod whose end does not matter any more.
func (a *acting) discard(pod *corev1.Pod, reason string) {
	a.release(pod, reason)
	switch {
	case a.judge.Overdue(pod) && (pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > 0):
		a.do(ForceDeletePod, pod, reason)
	case pod.DeletionTimestamp == nil:
		a.do(DeletePod, pod, reason)
	default:
		a.wakeAfter(a.judge.UntilOverdue(pod))
	}
}

// release takes the finalizer off a pod.
func (a *acting) release(pod *corev1.Pod, reason string) {
	if ending.Tracked(pod) {
		a.do(ReleasePod, pod, reason)
	}
}

// letGo releases every pod of a job that is being deleted: its ledger goes with it.
func letGo(job *v1beta1.GenericJob, pods []*corev1.Pod) []Action {
	var a acting
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) }) {
		if metav1.IsControlledBy(pod, job) {
			a.release(pod, "the job is being deleted")
		}
	}
	return a.actions
}

// letOrphansGo releases pods whose job is gone.
func letOrphansGo(w World) []Action {
	var a acting
	for _, pod := range w.Orphans {
		a.release(pod, "its job is gone")
	}
	return a.actions
}

// withoutReleases are the actions without those that let go of some pods.
func withoutReleases(actions []Action, of []*corev1.Pod) []Action {
	kept := map[*corev1.Pod]bool{}
	for _, pod := range of {
		kept[pod] = true
	}
	return slices.DeleteFunc(actions, func(a Action) bool { return (a.Verb == ReleasePod || a.Verb == EndPod) && kept[a.Pod] })
}

// provide asks for what the pods need before they start: the job's Service and the gang scheduler's objects.
func (a *acting) provide() {
	if want := build.Service(a.Job); want != nil {
		a.provideService(want)
	}
	a.group()
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

// createMissing creates the pods of replicas that have none and have not finished: of each type as many as the caller can create. A job of
// a few kilobytes may ask for tens of thousands.
func (a *acting) createMissing() {
	isClear, others := !a.ledger.WholeJob() || a.clearForAttempt(), a.othersAreReady()
	for i := range a.crew.Types {
		t := &a.crew.Types[i]
		if !t.Auxiliary && (!isClear || !a.mayBegin(t)) {
			continue
		}
		if a.createOf(t, others) {
			a.more = append(a.more, t.Type)
		}
	}
}

// createOf creates the pods that are missing of a type, and reports whether there are more of them than the caller can create. Others is
// whether the replicas are there that some types wait for.
func (a *acting) createOf(t *roster.Type, others bool) (more bool) {
	room, most := a.room(t), cmp.Or(a.Most, t.N)
	for rank, pod := range t.Pods {
		if pod != nil || t.Finished(rank) || a.isHeldBack(t, rank, others) {
			continue
		}
		if room--; room < 0 {
			break // pods that go have the places still, or the next pass queues for more
		}
		wait, replaced := a.ledger.Delay(t.Account, rank, a.Now)
		if wait > 0 {
			a.wakeAfter(wait)
			continue
		}
		if most--; most < 0 {
			continue // not break: a delay of those behind may be over sooner
		}
		reason := "it is missing"
		if replaced {
			reason = "it is replaced"
		}
		a.actions = append(a.actions, Action{Verb: CreatePod, Type: t.Type, Rank: rank, Attempt: a.ledger.Attempt(t.Account, rank), Reason: reason})
	}
	return most < 0
}

// clearForAttempt says whether the next attempt of the whole job may begin: the old pods must be gone, because a
// collective that forms again must not meet members of the old one, and the delay must be over.
func (a *acting) clearForAttempt() bool {
	wait := a.ledger.NextDelay(a.Now)
	a.wakeAfter(wait)
	garbage, until := a.crew.HasGarbage()
	a.wakeAfter(until)
	return wait == 0 && !garbage
}

// mayBegin reports whether new pods of a type may come while replicas wait for each other: they wait, too, or all others have stopped.
func (a *acting) mayBegin(t *roster.Type) bool {
	return a.ledger.Gathered() || a.meets.stopped || build.RestartsInPlace(a.Job, t.ReplicaSpec, a.Settings.WrapperImage)
}
