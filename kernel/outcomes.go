package kernel

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ending"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// outcomes are what a reconcile has learned from the ends of pods, beside what stands in the ledger.
type outcomes struct {
	pending          []restart        // replicas that ended and may be run again
	failures         []status.Failure // of those that failed for good
	fresh            []*corev1.Pod    // those whose success is in no status yet
	ended            []restart        // all that ended, in the order of their ends
	hang             hang             // a hang that is known, and that some of these ends may belong to
	uncountedFor     time.Duration    // how long these ends are not counted yet, so that a kubelet can tell what they follow from
	successMayVanish bool             // a pod of fresh may be gone before its success is written: somebody deletes it, or has taken our finalizer away
}

// restart is a replica that ended and that may be run again. It is only carried out if no rule ends the job first: restarts
// that a finished job would have made are not counted.
type restart struct {
	account  *ledger.Account
	rank     int
	pod      ending.Pod
	countsAs ledger.Count
	ending   ending.Ending // of the pod. One that is Exited can run the code again; one that is Stranded has not ended, and runs none
	allowed  bool          // by the replica's own policy and limit
	excused  bool          // see excuse
	hangsToo bool          // see hang
	why      string        // for events and conditions
	first    *restart      // whose failure is told, if that is another's: all restart with it
}

func (r restart) counted() bool { return r.countsAs == ledger.Restart }

// succeeded reports whether code is run again that has succeeded.
func (r restart) succeeded() bool { return r.ending == ending.Succeeded }

// recordOutcomes writes into the ledger what the pods report: who succeeded, and who failed for good. A finished job's ledger is closed.
func recordOutcomes(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster, now time.Time) outcomes {
	var o outcomes
	if job.Status.CompletionTime != nil {
		return o
	}
	forget(draft, replicas)
	var ended []restart
	disturbed := false
	for i := range replicas.Types {
		t := &replicas.Types[i]
		for rank, pod := range t.Pods {
			is := endingOf(replicas, t, rank)
			if is == ending.Alive {
				continue
			}
			disturbed = disturbed || slices.Contains(disturbances, is)
			if r, restarts := restartOf(draft.Ledger, t, rank, is); restarts {
				ended = append(ended, r)
			} else if is == ending.Succeeded {
				draft.Succeed(t.Account, rank)
				o.see(pod)
			}
		}
	}
	slices.SortStableFunc(ended, func(a, b restart) int { return byEnd(a.pod, b.pod) })
	if disturbed && draft.WholeJob() {
		excuse(ended)
	}
	o.ended, o.hang = ended, lastHang(job, draft.Ledger)
	if o.uncountedFor = untilCause(job, replicas, ended, disturbed, now); o.uncountedFor == 0 {
		o.count(draft)
	}
	return o
}

// endingOf returns what the pod of a replica means for it; Alive if there is none, or the replica has finished.
func endingOf(replicas *roster.Roster, t *roster.Type, rank int) ending.Ending {
	if t.Pods[rank] == nil || t.Finished(rank) {
		return ending.Alive
	}
	return replicas.Ending(t, rank)
}

// count counts what has ended.
func (o *outcomes) count(draft ledger.Draft) {
	o.uncountedFor = 0
	o.hang.lead(o.ended)
	o.pending, o.failures = applyRestartBudget(draft, o.ended, o.hang)
	o.putFirst(draft.WholeJob())
}

// putFirst puts the first failure at the head of those that end the job or restart all replicas.
func (o *outcomes) putFirst(whole bool) {
	first := firstOf(o.ended)
	if first == nil {
		return
	}
	if whole && len(o.pending) > 0 && isFailure(&o.pending[0]) {
		o.pending[0].first = first
	}
	if i := slices.IndexFunc(o.failures, func(s status.Failure) bool { return s.Pod == first.pod.Name }); i > 0 {
		o.failures[0], o.failures[i] = o.failures[i], o.failures[0]
	}
}

// byEnd orders pods by the times at which their code ended: what failed first is the cause, and is first served.
func byEnd(a, b ending.Pod) int {
	x, y := a.EndedAt(), b.EndedAt()
	if x.IsZero() != y.IsZero() {
		return cmp.Compare(y.Unix(), x.Unix()) // what is not known comes last
	}
	return x.Compare(y)
}

// disturbances are the endings of pods that something outside the job ends.
var disturbances = []ending.Ending{ending.Disrupted, ending.Lost, ending.Terminating, ending.Stranded}

// forget drops what the ledger holds of replicas that were scaled away.
func forget(draft ledger.Draft, replicas *roster.Roster) {
	draft.Trim()
	for _, s := range replicas.ScaledDown {
		draft.Discard(s.Type, s.Rank, s.Attempt)
	}
}

// see notes a pod whose success has just been recorded.
func (o *outcomes) see(pod *corev1.Pod) {
	o.fresh = append(o.fresh, pod)
	o.successMayVanish = o.successMayVanish || pod.DeletionTimestamp != nil || !ending.Tracked(pod)
}

// restartOf returns the restart of a replica whose pod has such an ending, and whether there is one. There is none of a pod that lives, or has
// done its work.
func restartOf(l *ledger.Ledger, t *roster.Type, rank int, is ending.Ending) (r restart, restarts bool) {
	pod := t.Pod(rank)
	r = restart{account: t.Account, rank: rank, pod: pod, ending: is}
	switch is {
	case ending.Succeeded:
		if !l.RunsAgain(t.Account, rank) {
			return r, false
		}
		r.why = status.RunsAlways(pod.Name)
		if t.Auxiliary {
			r.countsAs, r.why = ledger.Uncounted, status.StillServes(pod.Name)
		}
	case ending.Exited, ending.Stranded:
		return restartOfContainer(l, t, r), true
	case ending.Failed:
		if pod.HasCounted(t.Exits(rank, pod.UID)) {
			return restartOfCounted(t, r), true
		}
		r.why = pod.Failure()
		if t.Auxiliary {
			r.countsAs = ledger.Uncounted
		}
	case ending.Disrupted, ending.Lost:
		return restartOfDisruption(t, r), true
	case ending.Terminating:
		return earlyDisruption(l, t, r)
	case ending.Alive, ending.Superseded, ending.Unwanted, ending.Behind, ending.AwaitingPhase:
		return r, false
	}
	r.allowed = t.Policy.Allows(r.pod.Code()) && l.WithinLimit(t.Account, rank)
	return r, true
}

// restartOfCounted returns the restart of a replica whose pod has failed, by an end that is counted already.
func restartOfCounted(t *roster.Type, r restart) restart {
	if r.pod.IsRemoved() {
		return restartOfDisruption(t, r)
	}
	r.countsAs, r.allowed, r.why = ledger.Uncounted, true, status.NodeGivesUp(r.pod.Name)
	return r
}

// restartOfDisruption returns the restart of a replica whose pod was ended from outside the job.
func restartOfDisruption(t *roster.Type, r restart) restart {
	r.countsAs, r.why = ledger.Disruption, r.pod.Disruption()
	if ending.IsDebug(r.pod.Pod) {
		r.countsAs = ledger.Uncounted
	}
	// What Never forbids is to start code again that has started.
	r.allowed = t.Policy.Kind != v1beta1.RestartNever || !r.pod.HasStarted() || ending.IsDebug(r.pod.Pod)
	return r
}

// restartOfContainer returns the restart of a replica whose container has ended, and whose pod has not.
func restartOfContainer(l *ledger.Ledger, t *roster.Type, r restart) restart {
	if r.ending == ending.Stranded {
		return restartOfStranded(l, t, r)
	}
	return restartOfExit(l, t, r)
}

// restartOfExit returns the restart of a replica whose container has ended and is started again by the kubelet. Several ends that came into view
// together are recorded one by one, the first of them first.
func restartOfExit(l *ledger.Ledger, t *roster.Type, r restart) restart {
	switch lost := r.pod.LostByNode(); {
	case lost && !l.WholeJob() && r.pod.ExitsBeforeLoss() > t.Exits(r.rank, r.pod.UID):
		r.pod = r.pod.AtExitBeforeLoss()
	case lost:
		r.pod = r.pod.AtLastExit()
		r.ending = ending.Stranded
		r.countsAs, r.allowed, r.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, r.pod.Disruption()
		return r
	default:
		r.pod = r.pod.AtLastExit()
	}
	r.why = r.pod.Failure()
	r.allowed = t.Policy.Allows(r.pod.Code()) && l.WithinLimit(t.Account, r.rank)
	return r
}

// restartOfStranded returns the restart of a replica whose container stays ended. If that end is counted already, its new pod is not. Where all
// replicas begin again with it, it is counted as a disruption all the same.
func restartOfStranded(l *ledger.Ledger, t *roster.Type, r restart) restart {
	r.countsAs, r.allowed, r.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, r.pod.Stranding()
	if !l.WholeJob() && r.pod.HasCountedLast(t.Exits(r.rank, r.pod.UID)) {
		r.countsAs, r.allowed = ledger.Uncounted, true
	}
	return r
}

// excuse counts failures as disruptions, in a job whose replicas restart together and one of which is being disrupted. The others failed
// because they lost that one, whichever end is seen first.
func excuse(ended []restart) {
	for i := range ended {
		if r := &ended[i]; isFailure(r) {
			r.countsAs, r.allowed, r.excused = ledger.Disruption, r.account.Policy.Kind != v1beta1.RestartNever, true
			r.why = status.WhileDisrupted(r.why)
		}
	}
}

// applyRestartBudget returns the restarts that the limits leave, in the order in which the replicas ended. The other replicas fail for good.
// With restartScope Job one restart replaces all replicas. So the first that is allowed takes along all that ended with it or later. A failure
// that came earlier stays final: what is seen together ends as what is seen one by one.
func applyRestartBudget(draft ledger.Draft, ended []restart, h hang) (pending []restart, failures []status.Failure) {
	var final []restart
	budget := draft.Budget()
	for _, r := range ended {
		h.join(&r)
		if !r.allowed || r.counted() && budget == 0 {
			final = append(final, r)
			continue
		}
		pending = append(pending, r)
		if r.counted() {
			h.note(&r)
		}
		if r.counted() && budget > 0 {
			budget--
		}
	}
	if draft.WholeJob() && len(pending) > 0 {
		first := slices.IndexFunc(pending, restart.counted)
		if first >= 0 {
			final = slices.DeleteFunc(final, func(r restart) bool { return byEnd(r.pod, pending[first].pod) >= 0 })
		} else {
			first = max(0, slices.IndexFunc(pending, func(r restart) bool { return !r.excused })) // it says what really happened
		}
		pending = pending[first : first+1]
	}
	return pending, failForGood(draft, final)
}

// failForGood writes into the ledger that replicas which ended are not run again, and returns their failures.
func failForGood(draft ledger.Draft, final []restart) (failures []status.Failure) {
	for _, r := range final {
		if r.succeeded() { // policy Always, and another took the last restart that all share
			draft.Succeed(r.account, r.rank)
			continue
		}
		draft.Fail(r.account, r.rank)
		why := status.FailedForGood(r.account, r.counted(), draft.WithinLimit(r.account, r.rank))
		failures = append(failures, status.Failure{Why: r.why, Then: why, ReplicaFailure: r.pod.Record()})
	}
	return failures
}
