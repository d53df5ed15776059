package kernel

import (
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
	pending          []end            // replicas that ended and may be run again
	failures         []status.Failure // of those that failed for good
	fresh            []*corev1.Pod    // those whose success is in no status yet
	ended            []end            // all that ended, in the order of their ends
	failedBy         string           // the rule of spec.failurePolicy that fails the job; "" if none does
	hang             hang             // a hang that is known, and that some of these ends may belong to
	running          running          // what runs of a job that does not train yet
	uncountedFor     time.Duration    // how long these ends are not counted yet, so that a kubelet can tell what they follow from
	successMayVanish bool             // a pod of fresh may be gone before its success is written: somebody deletes it, or has taken our finalizer away
}

// end is how a replica has ended, and what follows: it may be run again, or has failed for good. A restart is only carried out if no rule ends the
// job first: restarts that a finished job would have made are not counted.
type end struct {
	account  *ledger.Account
	rank     int
	pod      ending.Pod
	countsAs ledger.Count
	ending   ending.Ending // of the pod. One that is Exited can run the code again; one that is Stranded has not ended, and runs none
	allowed  bool          // the replica may run again: by its policy and limit, or by a rule of failurePolicy
	excused  bool          // see excuse
	hangsToo bool          // see hang
	rule     string        // the rule of spec.failurePolicy that decided; "" if none did
	fails    bool          // it fails the job
	why      string        // for events and conditions
	first    *end          // whose failure is told, if that is another's: all restart with it
}

func (e end) counted() bool { return e.countsAs == ledger.Restart }

// succeeded reports whether code is run again that has succeeded.
func (e end) succeeded() bool { return e.ending == ending.Succeeded }

// recordOutcomes writes into the ledger what the pods report: who succeeded, and who failed for good. A finished job's ledger is closed.
func recordOutcomes(job *v1beta1.GenericJob, draft ledger.Draft, replicas *roster.Roster, now time.Time) outcomes {
	var o outcomes
	if job.Status.CompletionTime != nil {
		return o
	}
	forget(draft, replicas)
	var ended []end
	disturbed, trains := false, draft.Trains()
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		is := endingOf(replicas, t, rank)
		if is == ending.Alive {
			if !trains {
				o.running.add(t, rank)
			}
			continue
		}
		disturbed = disturbed || slices.Contains(disturbances, is)
		if e, has := endOf(draft.Ledger, t, rank, is); has {
			ended = append(ended, e)
		} else if is == ending.Succeeded {
			draft.Succeed(t.Account, rank)
			o.noteSuccess(pod)
		}
	}
	slices.SortStableFunc(ended, func(a, b end) int { return byEnd(a.pod, b.pod) })
	if disturbed && draft.WholeJob() {
		excuse(ended)
	}
	o.ended, o.hang = ended, lastHang(job, draft.Ledger)
	if o.uncountedFor = untilCause(job, replicas, ended, disturbed, now); o.uncountedFor == 0 {
		o.count(job, draft)
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
func (o *outcomes) count(job *v1beta1.GenericJob, draft ledger.Draft) {
	o.uncountedFor = 0
	o.applyFailurePolicy(job, draft.Ledger)
	o.hang.putFirstHangFirst(o.ended)
	var final []end
	o.pending, final = applyRestartBudget(draft, o.ended, o.hang)
	o.failedBy = putFailing(final)
	o.failures = failForGood(draft, final)
	o.putFirst(draft.WholeJob())
}

// putFirst puts the first failure at the head of those that end the job or restart all replicas. Where a rule fails the job, what it judged stays there.
func (o *outcomes) putFirst(whole bool) {
	first := firstOf(o.ended)
	if first == nil {
		return
	}
	if whole && len(o.pending) > 0 && isFailure(&o.pending[0]) {
		o.pending[0].first = first
	}
	if i := slices.IndexFunc(o.failures, func(s status.Failure) bool { return s.Pod == first.pod.Name }); i > 0 && (o.failedBy == "" || first.fails) {
		o.failures[0], o.failures[i] = o.failures[i], o.failures[0]
	}
}

// byEnd orders pods by the times at which their code ended: what failed first is the cause, and is first served.
func byEnd(a, b ending.Pod) int {
	x, y := a.EndedAt(), b.EndedAt()
	switch {
	case x.IsZero() == y.IsZero():
		return x.Compare(y)
	case x.IsZero():
		return 1 // what is not known comes last
	default:
		return -1
	}
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

// noteSuccess notes a pod whose success has just been recorded.
func (o *outcomes) noteSuccess(pod *corev1.Pod) {
	o.fresh = append(o.fresh, pod)
	o.successMayVanish = o.successMayVanish || pod.DeletionTimestamp != nil || !ending.Tracked(pod)
}

// endOf returns what follows from the ending of a replica's pod, and whether the replica has ended. A replica has not ended if its pod lives, does
// not matter, or has done its work.
func endOf(l *ledger.Ledger, t *roster.Type, rank int, is ending.Ending) (e end, has bool) {
	pod := t.Pod(rank)
	e = end{account: t.Account, rank: rank, pod: pod, ending: is}
	switch is {
	case ending.Succeeded:
		if !l.RunsAgain(t.Account, rank) {
			return e, false
		}
		e.why = status.RunsAlways(pod.Name)
		if t.Auxiliary {
			e.countsAs, e.why = ledger.Uncounted, status.StillServes(pod.Name)
		}
	case ending.Exited, ending.Stranded:
		return endOfContainer(l, t, e), true
	case ending.Failed:
		if pod.HasCounted(t.Exits(rank, pod.UID)) {
			return endOfCounted(t, e), true
		}
		e.why = pod.Failure()
		if t.Auxiliary {
			e.countsAs = ledger.Uncounted
		}
	case ending.Disrupted, ending.Lost:
		return endByDisruption(t, e), true
	case ending.Terminating:
		return earlyDisruption(l, t, e)
	case ending.Alive, ending.Superseded, ending.Unwanted, ending.Behind, ending.AwaitingPhase:
		return e, false
	}
	e.allowed = t.Policy.Allows(e.pod.Code()) && l.WithinLimit(t.Account, rank)
	return e, true
}

// endOfCounted returns the end of a replica whose pod has failed, by an end of its container that is counted already.
func endOfCounted(t *roster.Type, e end) end {
	if e.pod.IsRemoved() {
		return endByDisruption(t, e)
	}
	e.countsAs, e.allowed, e.why = ledger.Uncounted, true, status.NodeGivesUp(e.pod.Name)
	return e
}

// endByDisruption returns the end of a replica whose pod was ended from outside the job.
func endByDisruption(t *roster.Type, e end) end {
	e.countsAs, e.why = ledger.Disruption, e.pod.Disruption()
	if ending.IsDebug(e.pod.Pod) {
		e.countsAs = ledger.Uncounted
	}
	// What Never forbids is to start code again that has started.
	e.allowed = t.Policy.Kind != v1beta1.RestartNever || !e.pod.HasStarted() || ending.IsDebug(e.pod.Pod)
	return e
}

// endOfContainer returns the end of a replica whose container has ended, and whose pod has not.
func endOfContainer(l *ledger.Ledger, t *roster.Type, e end) end {
	if e.ending == ending.Stranded {
		return endOfStranded(l, t, e)
	}
	return endOfExit(l, t, e)
}

// endOfExit returns the end of a replica whose container has ended and is started again by the kubelet. Several ends that came into view
// together are recorded one by one, the first of them first.
func endOfExit(l *ledger.Ledger, t *roster.Type, e end) end {
	switch lost := e.pod.LostByNode(); {
	case lost && !l.WholeJob() && e.pod.ExitsBeforeLoss() > t.Exits(e.rank, e.pod.UID):
		e.pod = e.pod.AtExitBeforeLoss()
	case lost:
		e.pod = e.pod.AtLastExit()
		e.ending = ending.Stranded
		e.countsAs, e.allowed, e.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, e.pod.Disruption()
		return e
	default:
		e.pod = e.pod.AtLastExit()
	}
	e.why = e.pod.Failure()
	e.allowed = t.Policy.Allows(e.pod.Code()) && l.WithinLimit(t.Account, e.rank)
	return e
}

// endOfStranded returns the end of a replica whose container stays ended. If that end is counted already, its new pod is not. Where all
// replicas begin again with it, it is counted as a disruption all the same.
func endOfStranded(l *ledger.Ledger, t *roster.Type, e end) end {
	e.countsAs, e.allowed, e.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, e.pod.Stranding()
	if !l.WholeJob() && e.pod.HasCountedLast(t.Exits(e.rank, e.pod.UID)) {
		e.countsAs, e.allowed = ledger.Uncounted, true
	}
	return e
}

// excuse counts failures as disruptions, in a job whose replicas restart together and one of which is being disrupted. The others failed
// because they lost that one, whichever end is seen first.
func excuse(ended []end) {
	for i := range ended {
		if e := &ended[i]; isFailure(e) {
			e.countsAs, e.allowed, e.excused = ledger.Disruption, e.account.Policy.Kind != v1beta1.RestartNever, true
			e.why = status.WhileDisrupted(e.why)
		}
	}
}
