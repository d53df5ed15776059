package kernel

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

// A gang scheduler places a pod only if enough others of its group are there. The scheduler does not see pods that have finished. Therefore the
// operator tells it how many unfinished replicas are to be placed together, and not how many replicas the job has. Some groups cannot be changed. Then pods that
// wait for a node may need a new group. They get one if the old group can never be complete, or would let too few of them go ahead.

// least is how many of the replicas that have not finished are placed together. The job's own minimum is one of replicas that are
// not auxiliary: these come on top.
func least(job *v1beta1.GenericJob, l *ledger.Ledger) int {
	left := l.Unfinished()
	if m := job.Spec.Scheduler.MinMember; m != nil {
		left = min(left, int(*m)+l.Auxiliary())
	}
	return max(left, 1)
}

// regroup begins a new group for pods that are to be placed, if the present one will not do for them and cannot be changed.
func regroup(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster) {
	if !build.GroupsAreImmutable(job) {
		return
	}
	group := draft.Gang()
	placed, members := 0, 0
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		switch {
		case t.Finished(rank):
		case pod == nil || !replicas.Ending(t, rank).GoesOn() || !ending.Scheduled(pod):
			members++ // it is to be placed, in the present group
		default:
			placed++
			if gangOf(pod) == int(group.Group) {
				members++
			}
		}
	}
	left := draft.Unfinished() - placed
	if need := max(1, min(left, least(job, draft.Ledger)-placed)); left > 0 && (members < int(group.MinMember) || need > int(group.MinMember)) {
		draft.Regroup(need, replicas.HasPods())
	}
}

func gangOf(pod *corev1.Pod) int { return ending.Number(pod, v1beta1.LabelGang) }

// move has a pod made again that waits in a group which is no longer the present one.
func (a *acting) move(pod *corev1.Pod) {
	if build.GroupsAreImmutable(a.Job) && !ending.Scheduled(pod) && gangOf(pod) != int(a.ledger.Gang().Group) {
		a.do(StopPod, pod, "it waits in a group that cannot be complete any more")
	}
}

// group asks for the job's PodGroup.
func (a *acting) group() {
	versions := build.GangVersions(a.Job)
	if len(versions) == 0 {
		return
	}
	g := build.Group{Number: a.ledger.Gang().Group, Least: least(a.Job, a.ledger)}
	if build.GroupsAreImmutable(a.Job) {
		g.Least = int(a.ledger.Gang().MinMember)
	}
	if g.Least == 0 {
		return // nothing is to be placed
	}
	for _, t := range a.ledger.Types() {
		g.Left = append(g.Left, t.Left())
	}
	object := build.GangObject(a.Job, g, cmp.Or(a.Gang.Version, versions[0]))
	if !build.Has(a.Gang.Objects, object) {
		a.actions = append(a.actions, Action{Verb: ApplyObject, Object: object, Reason: "the pods are scheduled by it"})
	}
}

// ungroup deletes the job's PodGroups when no pod of them is left that runs: what its queue has set aside for it is free then.
func (a *acting) ungroup() {
	if a.anyPodLives() {
		return
	}
	for _, object := range a.Gang.Objects {
		if object.GetDeletionTimestamp() == nil {
			a.wakeAfter(staleInterval) // nothing tells that it is gone
			a.actions = append(a.actions, Action{Verb: DeleteObject, Object: object, QuotaPrecondition: &QuotaPrecondition{}, Reason: "no pod is scheduled by it any more"})
		}
	}
}
