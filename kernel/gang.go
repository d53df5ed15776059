package kernel

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// A gang scheduler places a pod only if enough other pods of its group are there, and pods that have finished do not count. So the operator tells it
// how many unfinished replicas are to be placed together, and not how many replicas the job has. Some schedulers have groups that cannot be changed.
// Then pods that wait for a node may need a new group. They get one if the old group can never be complete, or would let too few of them go ahead.

// minMember returns how many of the replicas that have not finished are placed together. The job's own minimum does not include auxiliary replicas,
// so these are added.
func minMember(job *v1beta1.GenericJob, l *ledger.Ledger) int {
	left := l.Unfinished()
	if m := job.Spec.Scheduler.MinMember; m != nil {
		left = min(left, int(*m)+l.AuxiliaryReplicas())
	}
	return max(left, 1)
}

// regroup begins a new group for the pods that have no node yet, if the present group cannot be changed, and does not suit them.
func regroup(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster) {
	if !build.GroupsAreImmutable(job) {
		return
	}
	noteOutside(job, draft, replicas)
	group := draft.Gang()
	placed, members := 0, 0 // unfinished replicas that have a node; pods of the present group, those to come included
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		switch {
		case t.HasFinished(rank):
		case pod == nil || !replicas.State(t, rank).GoesOn() || !podstate.IsScheduled(pod):
			members++ // its pod is to be placed, or made, in the present group
		default:
			placed++
			if groupNumberOf(pod) == int(group.Group) {
				members++ // also if it is outside: see stopOutsideGang
			}
		}
	}
	unplaced := draft.Unfinished() - placed
	if unplaced <= 0 {
		return
	}
	need := max(1, min(unplaced, minMember(job, draft.Ledger)-placed))
	if members < int(group.MinMember) || need > int(group.MinMember) {
		draft.Regroup(need, replicas.HasPods())
	}
}

// noteOutside notes that the cluster has taken a pod, which lacks its group. Such a pod is stopped, and leaves no other trace.
func noteOutside(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster) {
	for t, rank := range replicas.Replicas() {
		if pod := t.Pods[rank]; pod != nil && build.LacksGroup(job, pod) {
			draft.NotePodOutside()
		}
	}
}

// groupNumberOf returns the number of a pod's group.
func groupNumberOf(pod *corev1.Pod) int { return podstate.Number(pod, v1beta1.LabelGang) }

// stopOutsideGang has a pod made again that an apiserver has stored without its group, and reports whether it does. A pod with a node may run code.
// So it goes only if its group cannot be complete without it. Its end is then that of a pod that is stopped, which no limit counts. Code that has
// ended before counts instead: it is not run again if its policy says so.
func (a *acting) stopOutsideGang(pod podstate.Pod) bool {
	if !build.LacksGroup(a.Job, pod.Pod) || len(a.Gang.Objects) == 0 || pod.DeletionTimestamp != nil || pod.IsDecided() {
		return false
	}
	if podstate.IsScheduled(pod.Pod) && !a.groupLacksPods() {
		return false
	}
	a.do(StopPod, pod.Pod, "an apiserver has dropped its scheduling group")
	return true
}

// groupLacksPods reports whether a pod of the present group waits for a node in vain. The group is then incomplete even with all pods that are still
// to be made. A pod that waits outside the present group is made again in it.
func (a *acting) groupLacksPods() bool {
	group := a.ledger.Gang()
	waits, members := false, 0
	for t, rank := range a.replicas.Replicas() {
		if t.HasFinished(rank) {
			continue
		}
		pod := t.Pods[rank]
		isIn := pod != nil && !build.LacksGroup(a.Job, pod) && groupNumberOf(pod) == int(group.Group)
		switch {
		case pod == nil || !a.replicas.State(t, rank).GoesOn():
			members++
		case !podstate.IsScheduled(pod):
			members++
			waits = waits || isIn
		case isIn:
			members++
		}
	}
	return waits && members < int(group.MinMember)
}

// stopUnplaced has a pod without a node made again, if its group is no longer the present one. It does the same if the pod avoids a node that need
// not be avoided any more.
func (a *acting) stopUnplaced(pod *corev1.Pod) {
	if podstate.IsScheduled(pod) {
		return
	}
	if build.GroupsAreImmutable(a.Job) && groupNumberOf(pod) != int(a.ledger.Gang().Group) {
		a.do(StopPod, pod, "it waits in a group that cannot be complete any more")
		return
	}
	inVain, until := a.avoidsInVain(pod)
	a.wakeAfter(until)
	if inVain {
		a.do(StopPod, pod, "it avoids a node that need not be avoided any more")
	}
}

// applyGroup asks for the job's PodGroup.
func (a *acting) applyGroup() {
	versions := build.GangVersions(a.Job)
	if len(versions) == 0 {
		return
	}
	g := build.Group{Number: a.ledger.Gang().Group, MinMember: minMember(a.Job, a.ledger)}
	if build.GroupsAreImmutable(a.Job) {
		g.MinMember = int(a.ledger.Gang().MinMember)
	}
	if g.MinMember == 0 {
		return // nothing is to be placed
	}
	for _, t := range a.ledger.Accounts() {
		g.Left = append(g.Left, t.Unfinished())
	}
	object := build.GangObject(a.Job, g, cmp.Or(a.Gang.Version, versions[0]))
	if !build.Has(a.Gang.Objects, object) {
		a.actions = append(a.actions, Action{Verb: ApplyObject, Object: object, Reason: "the pods are scheduled by it"})
	}
}

// deleteGroups deletes the job's PodGroups once no pod of the job runs any more. That frees what the scheduler's queue has set aside for them. The
// caller looks again when one is deleted, or when it tries again what was refused.
func (a *acting) deleteGroups() {
	if a.anyPodLives() {
		return
	}
	for _, object := range a.Gang.Objects {
		if object.GetDeletionTimestamp() == nil {
			a.actions = append(a.actions, Action{Verb: DeleteObject, Object: object, QuotaPrecondition: &QuotaPrecondition{}, Reason: "no pod is scheduled by it any more"})
		}
	}
}
