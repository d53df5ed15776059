package kernel

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Kueue is what the cluster has of the Kueue queue in which a job waits.
type Kueue struct {
	// Missing names the kind that the cluster does not know, "" if it knows all.
	Missing string
	// Forbidden is what the apiserver says if the operator may not read Kueue's objects; "" if it may.
	Forbidden string
	// Workload is the job's Workload as the cluster has it; nil if there is none.
	Workload *unstructured.Unstructured
	// Flavors are the resource flavors that the Workload names, by name. A flavor that does not exist is not in the map, nor is one that the operator
	// may not read. FlavorForbidden is what the apiserver says of that; "" if the operator may.
	Flavors         map[string]*unstructured.Unstructured
	FlavorForbidden string
	// Priority is the value of the job's WorkloadPriorityClass; nil if there is none of that name. It is read for a new Workload alone.
	Priority *int32
}

// waitsForKueue lets no pod of the job run for which its queue has no quota.
func waitsForKueue(f facts) verdict.Verdict {
	in := f.ledger.Kueue()
	if in == nil {
		return verdict.Verdict{}
	}
	if why := f.kueue.unavailable(in.QueueName); why != "" {
		return verdict.Verdict{Course: verdict.Block, Reason: v1beta1.ReasonGangUnavailable, RecheckAfter: gangInterval, Message: why}
	}
	s := kueue.Read(f.kueue.Workload)
	if s.Admitted && !isShort(f.kueue.Workload, f.ledger) && !isOfOtherPods(f.kueue.Workload, f.ledger) && assignedToBad(f.job, f.kueue.Workload, f.ledger) == "" {
		return verdict.Verdict{}
	}
	return waiting(f, *in, s)
}

// withoutFlavor says that pods of a type are missing for want of a resource flavor in which the type was admitted; "" if none are. The flavor does not
// exist, or the operator may not read it. What runs goes on, and its ends are recorded as ever.
func withoutFlavor(k Kueue, l *ledger.Ledger, replicas *roster.Roster) string {
	in, s := l.Kueue(), kueue.Read(k.Workload)
	if in == nil {
		return ""
	}
	for i := range replicas.Types {
		t := &replicas.Types[i]
		switch lost := k.lostFlavor(s, t.Type); {
		case lost == "" || !replicas.LacksPod(t):
		case k.FlavorForbidden != "":
			return status.KueueForbidden(k.FlavorForbidden, in.QueueName)
		default:
			return status.NoFlavor(t.Type, lost, k.Workload.GetName())
		}
	}
	return ""
}

// lostFlavor returns the name of a resource flavor in which a replica type was admitted, but which does not exist, or cannot be read. It is "" if all
// of them are known.
func (k Kueue) lostFlavor(s kueue.State, replicaType string) string {
	i := slices.IndexFunc(s.Flavors[replicaType], func(name string) bool { return k.Flavors[name] == nil })
	if i < 0 {
		return ""
	}
	return s.Flavors[replicaType][i]
}

// waiting says what a job waits for in its queue.
func waiting(f facts, in v1beta1.KueueScheduler, s kueue.State) verdict.Verdict {
	wait := verdict.Verdict{Course: verdict.Queue, Reason: v1beta1.ReasonQueued}
	prebuilt, mistake := spec.Prebuilt(f.job), topologyMistake(f.ledger)
	switch {
	case prebuilt != "" && !s.Exists:
		wait.Reason, wait.Message = v1beta1.ReasonInvalidSpec, spec.PrebuiltMessage(prebuilt)
	case mistake != "" && !s.Exists:
		wait.Reason, wait.Message = v1beta1.ReasonInvalidSpec, status.TopologyMistake(mistake)
	case s.Admitted:
		wait.Message = insufficient(f, in.QueueName)
	case in.PriorityClass != "" && f.kueue.Priority == nil && !s.Exists:
		wait.RecheckAfter = gangInterval
		wait.Message = status.NoPriorityClass(in.PriorityClass)
	case s.Evicted && s.Reserves:
		wait.Reason = v1beta1.ReasonEvicted
		wait.Message = status.Evicted(s.Reason, s.Message, in.QueueName)
	case s.Inactive:
		wait.Message = status.SwitchedOff(f.kueue.Workload.GetName(), s.Message)
	default:
		wait.Message = status.Queued(in.QueueName, s.Message)
	}
	return wait
}

// topologyMistake says what is wrong with how a job asks Kueue for a topology; "" if nothing is.
func topologyMistake(l *ledger.Ledger) string {
	var requests []kueue.Request
	for _, t := range l.Accounts() {
		requests = append(requests, kueue.Request{Type: t.Type, Left: t.N, Template: &t.Template})
	}
	return kueue.Mistake(requests)
}

// unavailable says why Kueue cannot be asked, and what to do; "" if it can.
func (k Kueue) unavailable(name string) string {
	switch {
	case k.Missing != "":
		return status.NoKueue(k.Missing, name)
	case k.Forbidden != "":
		return status.KueueForbidden(k.Forbidden, name)
	default:
		return ""
	}
}

// room returns how many more pods of a type may be created, because the job's queue may have no quota for others. It is none if the resource flavor of
// the type does not exist: new pods could go to any node.
func (a *acting) room(t *roster.Type) int {
	if a.ledger.Kueue() == nil {
		return t.N
	}
	if a.Kueue.lostFlavor(kueue.Read(a.Kueue.Workload), t.Type) != "" {
		return 0
	}
	room := kueue.Free(a.Kueue.Workload, t.Type)
	for _, pod := range t.Pods {
		if pod != nil && !podstate.IsOver(pod) {
			room--
		}
	}
	for _, s := range a.replicas.ScaledDown {
		if s.Type == t.Type && !podstate.IsOver(s.Pod) {
			room--
		}
	}
	return room
}

// keepWorkload creates the job's Workload while the job wants to run, and deletes it when the job needs no quota. In the Workload it tells Kueue
// how the job goes. Quota goes back only when no pod uses it any more.
func (a *acting) keepWorkload(v verdict.Verdict) {
	in, idle := a.ledger.Kueue(), !a.anyPodLives()
	switch {
	case v.IsOver():
		if idle {
			a.updateWorkload(a.conclusion(v))
		}
	case in == nil || v.Course == verdict.Pause:
		if idle {
			a.dropWorkload("the job does not wait in a queue")
		}
	case v.Course == verdict.Run:
		a.updateWorkload(kueue.Update{Left: a.left(), Ready: a.allRun()})
	case v.Course == verdict.Queue && idle:
		a.queueUp(*in)
	}
}

// queueUp makes a job without pods wait in its queue.
func (a *acting) queueUp(in v1beta1.KueueScheduler) {
	switch s := kueue.Read(a.Kueue.Workload); {
	case !s.Exists:
		a.createWorkload(in)
	case !a.workloadIsUpToDate(in):
		a.dropWorkload("the job needs other quota")
	case s.Evicted && s.Reserves:
		a.updateWorkload(kueue.Update{GiveBack: true})
	}
}

func (a *acting) dropWorkload(reason string) {
	if w := a.Kueue.Workload; w != nil && w.GetDeletionTimestamp() == nil {
		a.actions = append(a.actions, Action{Verb: DeleteObject, Object: w, QuotaPrecondition: &QuotaPrecondition{}, Reason: reason})
	}
}

// conclusion returns the update that the job has finished.
func (a *acting) conclusion(v verdict.Verdict) kueue.Update {
	failed := v.Course == verdict.Fail || a.Job.Status.Phase == v1beta1.JobFailed
	words := status.Succeeded
	if failed {
		words = status.Failed
	}
	return kueue.Update{Over: true, Failed: failed, Message: words}
}

// anyPodLives reports whether some pod of the job, or of an earlier job of its name, may still use resources of a node.
func (a *acting) anyPodLives() bool {
	for _, p := range a.Pods {
		if !podstate.IsOver(p) {
			return true
		}
	}
	return len(a.Orphans) > 0
}

// wantedWorkload returns the Workload that the job needs, for pods that avoid these nodes.
func (a *acting) wantedWorkload(in v1beta1.KueueScheduler, avoids []string) *unstructured.Unstructured {
	return kueue.Workload(a.Job, in, requestsOf(a.ledger, avoids), a.Kueue.Priority)
}

// workloadIsUpToDate reports whether the Workload asks for what the job needs. It is up to date even if it names other nodes to avoid than the job
// does now. A new Workload would lose the job's place in the queue.
func (a *acting) workloadIsUpToDate(in v1beta1.KueueScheduler) bool {
	w := a.Kueue.Workload
	return kueue.Same(w, a.wantedWorkload(in, kueue.Avoided(w))) && assignedToBad(a.Job, w, a.ledger) == ""
}

func (a *acting) createWorkload(in v1beta1.KueueScheduler) {
	if spec.Prebuilt(a.Job) != "" || in.PriorityClass != "" && a.Kueue.Priority == nil || topologyMistake(a.ledger) != "" {
		return // see waiting
	}
	a.actions = append(a.actions, Action{Verb: CreateObject, Object: a.wantedWorkload(in, a.ledger.BadNodes()), Reason: "the job waits in a queue by it"})
}

func (a *acting) updateWorkload(r kueue.Update) {
	if a.Kueue.Workload == nil {
		return
	}
	next := kueue.Status(a.Kueue.Workload, r, a.Now)
	if next == nil {
		return
	}
	var precondition *QuotaPrecondition
	switch {
	case r.GiveBack, r.Over:
		precondition = &QuotaPrecondition{}
	case kueue.Reclaims(a.Kueue.Workload, r.Left):
		precondition = a.quotaPrecondition()
	}
	o := kueue.Key(a.Job)
	o.SetResourceVersion(a.Kueue.Workload.GetResourceVersion())
	o.Object["status"] = next
	a.actions = append(a.actions, Action{Verb: WriteObjectStatus, Object: o, QuotaPrecondition: precondition, Reason: "Kueue has to know"})
}

// left returns for how many replicas of each type quota is in use, or will be.
func (a *acting) left() map[string]int {
	left := a.unneeded()
	for _, t := range a.ledger.Accounts() {
		left[t.Type] += t.Unfinished()
	}
	return left
}

// quotaPrecondition names the pods that keep their quota: those of replicas that have not finished, and those that are not over yet.
func (a *acting) quotaPrecondition() *QuotaPrecondition {
	p := &QuotaPrecondition{Ranks: map[string]ledger.Ranks{}, Others: a.unneeded()}
	for i := range a.replicas.Types {
		t, ranks := &a.replicas.Types[i], ledger.Ranks{}
		for rank := range t.Pods {
			if !t.HasFinished(rank) {
				ranks.Add(rank)
			}
		}
		p.Ranks[t.Type] = ranks
	}
	return p
}

// unneeded counts, by type, the pods that are not over yet, though their replicas have finished or were scaled away.
func (a *acting) unneeded() map[string]int {
	n := map[string]int{}
	for t, rank := range a.replicas.Replicas() {
		if pod := t.Pods[rank]; pod != nil && t.HasFinished(rank) && !podstate.IsOver(pod) {
			n[t.Type]++
		}
	}
	for _, s := range a.replicas.ScaledDown {
		if !podstate.IsOver(s.Pod) {
			n[s.Type]++
		}
	}
	return n
}

// allRun reports whether all replicas that have not finished run.
func (a *acting) allRun() bool {
	for t, rank := range a.replicas.Replicas() {
		pod := t.Pods[rank]
		if !t.HasFinished(rank) && (pod == nil || pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil) {
			return false
		}
	}
	return true
}
