package kernel

import (
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// outcomes are what a reconcile has learned from the ends of pods, in addition to what it has written into the ledger. Each group of fields is set by
// the step that its comment names.
type outcomes struct {
	// recordEnds finds what has ended.
	ended            []*end        // all replicas that ended, in the order of their ends; once they are counted, the first hang is before other hangs
	newSuccesses     []*corev1.Pod // pods whose success no stored status has yet
	successMayVanish bool          // one of these may be gone before its success is written: somebody deletes it, or has removed our finalizer

	// recordOutcomes finds what count needs to know, and whether it must wait.
	hang     hang          // the hang that the status knows: some of these ends may belong to it
	furthest furthest      // how far the job had come
	waitsFor time.Duration // how much longer they wait to be counted: meanwhile a kubelet may tell the end that they follow from

	// count decides what becomes of the ends.
	allowedRestarts []end                     // the ends after which the limits allow a restart, as applyLimits has changed them
	failures        []status.Failure          // of replicas that failed for good
	failingRule     string                    // the rule of spec.failurePolicy that fails the job; "" if none does
	noProgress      *v1beta1.NoProgressStatus // what status.noProgress is from now on

	// reasonForAll is the first failure, if all replicas restart after a failure: it is told as their reason. Nil otherwise. See reportFirst.
	reasonForAll *end
}

// recordOutcomes writes into the ledger what the pods report: who succeeded, and who failed for good. A finished job's ledger is closed.
func recordOutcomes(w World, draft ledger.Draft, replicas *roster.Roster) outcomes {
	job, now := w.Job, w.Now
	o := outcomes{noProgress: job.Status.NoProgress}
	if job.Status.CompletionTime != nil {
		return o
	}
	forgetScaledDown(draft, replicas)
	disturbed := o.recordEnds(draft, replicas)
	if disturbed && draft.RestartsTogether() {
		excuse(o.ended)
	}
	o.hang = lastHang(job, draft.Ledger)
	o.furthest = furthestOf(w, replicas, o.ended)
	o.waitsFor = max(
		untilCause(job, replicas, o.ended, disturbed, now),
		o.untilStep(job, disturbed, now),
		o.untilServedFail(draft.Ledger, replicas, now),
	)
	if o.waitsFor == 0 {
		o.count(job, draft)
	}
	return o
}

// recordEnds records successes, and finds all other ends. It reports whether anything outside the job has ended code, or is about to.
func (o *outcomes) recordEnds(draft ledger.Draft, replicas *roster.Roster) (disturbed bool) {
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		state, matters := podStateOf(replicas, t, rank)
		if !matters || state == podstate.Alive {
			continue
		}
		e, isEnd := endOf(draft.Ledger, t, rank, state)
		disturbed = disturbed || slices.Contains(disturbances, state) || isEnd && e.countsAs == ledger.Disruption
		if isEnd {
			o.ended = append(o.ended, &e)
		} else if state == podstate.Succeeded {
			draft.Succeed(t.Account, rank)
			o.noteSuccess(pod)
		}
	}
	slices.SortStableFunc(o.ended, func(a, b *end) int { return byEnd(a.pod, b.pod) })
	return disturbed
}

// podStateOf returns what a replica's pod means for it. Matters is false if there is no pod, or the replica has finished: then nothing has to be
// recorded.
func podStateOf(replicas *roster.Roster, t *roster.Type, rank int) (state podstate.State, matters bool) {
	if t.Pods[rank] == nil || t.HasFinished(rank) {
		return 0, false
	}
	return replicas.State(t, rank), true
}

// count decides what each end counts as, and which replicas may be run again.
func (o *outcomes) count(job *v1beta1.GenericJob, draft ledger.Draft) {
	o.waitsFor = 0
	o.applyFailurePolicy(job, draft.Ledger)
	o.applyNoProgress(job, draft.Ledger)
	o.hang.putFirstHangFirst(o.ended)
	var final []end
	o.allowedRestarts, final = applyLimits(draft, o.ended, o.hang)
	o.failingRule = moveFailingToFront(final)
	o.failures = failForGood(draft, final)
}

// findWhereJobGoesOn finds after which ends the other replicas go on. What one reconcile sees together has the same result as what several see one by
// one. So they go on after a final end, unless the job has failed by then.
func (o *outcomes) findWhereJobGoesOn(job *v1beta1.GenericJob, l *ledger.Ledger, v verdict.Verdict) {
	var failing *end
	if v.ByFailure {
		failing = o.endThatFailsJob(job)
	}
	for _, e := range o.ended {
		stops := l.RestartsTogether() && !e.account.HasFinished(e.rank) || failing != nil && byEnd(e.pod, failing.pod) >= 0
		e.othersGoOn = !stops
	}
}

// endThatFailsJob returns the end by which a job fails that fails by a failure. Of the final ends, it is the first after which a rule holds; nil if
// there are none.
func (o *outcomes) endThatFailsJob(job *v1beta1.GenericJob) *end {
	final := slices.DeleteFunc(slices.Clone(o.ended), func(e *end) bool { return !e.account.HasFailed(e.rank) })
	slices.SortStableFunc(final, func(a, b *end) int { return byEnd(a.pod, b.pod) })
	n := sort.Search(len(final), func(n int) bool { return failsBy(job, final[:n+1]) })
	if n == len(final) {
		return nil
	}
	return final[n]
}

// byEnd sorts pods by when their code ended. What failed first is probably the cause, and is the first to get one of the restarts that are left.
func byEnd(a, b podstate.Pod) int {
	x, y := a.EndedAt(), b.EndedAt()
	switch {
	case x.IsZero() == y.IsZero():
		return x.Compare(y)
	case x.IsZero():
		return 1 // an unknown time comes last
	default:
		return -1
	}
}

// disturbances are the states of pods that something outside the job has ended, or is about to end. A pod in another state may have been disrupted,
// too: see endOf.
var disturbances = []podstate.State{podstate.Disrupted, podstate.Lost, podstate.Terminating, podstate.Stranded}

// forgetScaledDown drops what the ledger holds of replicas that were scaled away.
func forgetScaledDown(draft ledger.Draft, replicas *roster.Roster) {
	draft.ForgetScaledDown()
	for _, s := range replicas.ScaledDown {
		draft.StartScaledDownAnew(s.Type, s.Rank, s.Attempt)
	}
}

// noteSuccess notes a pod whose success has just been recorded.
func (o *outcomes) noteSuccess(pod *corev1.Pod) {
	o.newSuccesses = append(o.newSuccesses, pod)
	o.successMayVanish = o.successMayVanish || pod.DeletionTimestamp != nil || !podstate.HasFinalizer(pod)
}

// endedPods returns the pods that have ended, by their names, as they were then. One that has succeeded has not changed since.
func (o *outcomes) endedPods() map[string]*corev1.Pod {
	pods := make(map[string]*corev1.Pod, len(o.ended)+len(o.newSuccesses))
	for _, pod := range o.newSuccesses {
		pods[pod.Name] = pod
	}
	for _, e := range o.ended {
		pods[e.pod.Name] = e.pod.Pod
	}
	return pods
}
