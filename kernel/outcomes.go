package kernel

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// outcomes are what a reconcile has learned from the ends of pods, in addition to what it has written into the ledger.
type outcomes struct {
	// What has ended.
	ended            []*end        // all replicas that ended, in the order of their ends; once they are counted, the first hang is before other hangs
	newSuccesses     []*corev1.Pod // pods whose success no stored status has yet
	successMayVanish bool          // one of these may be gone before its success is written: somebody deletes it, or has removed our finalizer
	running          running       // the replicas that have not ended, in a job that does not train yet

	// What the ends are judged by, before they are counted.
	hang     hang          // the hang that the status knows: some of these ends may belong to it
	furthest furthest      // how far the job had come
	waitsFor time.Duration // how much longer they wait to be counted: meanwhile a kubelet may tell the end that they follow from

	// What count makes of them.
	allowedRestarts []end                     // the ends after which the limits allow a restart, as applyLimits has judged them
	toldInstead     *end                      // the first failure, if all replicas restart after a failure: it is told as their reason; nil otherwise
	failures        []status.Failure          // of replicas that failed for good
	failingRule     string                    // the rule of spec.failurePolicy that fails the job; "" if none does
	noProgress      *v1beta1.NoProgressStatus // what status.noProgress is from now on
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
	if o.waitsFor = max(untilCause(job, replicas, o.ended, disturbed, now), o.untilStep(job, disturbed, now)); o.waitsFor == 0 {
		o.count(job, draft)
	}
	return o
}

// recordEnds records successes, and finds all other ends. It reports whether anything outside the job has ended code, or is about to.
func (o *outcomes) recordEnds(draft ledger.Draft, replicas *roster.Roster) (disturbed bool) {
	trains := draft.Trains()
	for t, rank := range replicas.Replicas() {
		pod := t.Pods[rank]
		state, matters := podStateOf(replicas, t, rank)
		if !matters {
			continue
		}
		if state == podstate.Alive {
			if !trains {
				o.running.add(t, rank)
			}
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
	o.moveFirstFailureToFront(draft.RestartsTogether())
}

// moveFirstFailureToFront has the first failure be the one that is told. It comes to the head of failures, or becomes the reason for the restart of
// all replicas. But if a rule fails the job, the failure that it judged stays at the head.
func (o *outcomes) moveFirstFailureToFront(whole bool) {
	first := firstOf(o.ended)
	if first == nil {
		return
	}
	if whole && len(o.allowedRestarts) > 0 && isFailure(&o.allowedRestarts[0]) {
		o.toldInstead = first
	}
	if i := slices.IndexFunc(o.failures, func(s status.Failure) bool { return s.Pod == first.pod.Name }); i > 0 && (o.failingRule == "" || first.failsJob()) {
		o.failures[0], o.failures[i] = o.failures[i], o.failures[0]
	}
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
