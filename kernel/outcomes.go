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
	allowedRestarts []end                     // the ends after which the limits allow a restart
	failures        []status.Failure          // of replicas that failed for good
	newSuccesses    []*corev1.Pod             // pods whose success no stored status has yet
	ended           []end                     // all replicas that ended, in the order of their ends; once they are counted, the first hang is before other hangs
	failingRule     string                    // the rule of spec.failurePolicy that fails the job; "" if none does
	furthest        furthest                  // how far the job had come
	noProgress      *v1beta1.NoProgressStatus // what status.noProgress is from now on
	hang            hang                      // the hang that the status knows: some of these ends may belong to it
	running         running                   // the replicas that run, in a job that does not train yet
	// waitsFor is how much longer these ends wait to be counted. Meanwhile a kubelet may tell the end that they follow from.
	waitsFor time.Duration
	// successMayVanish says that a pod of newSuccesses may be gone before its success is written. Somebody deletes it, or has removed our finalizer.
	successMayVanish bool
}

// end is how a replica has ended, and what follows from that: it may be run again, or has failed for good. A restart is carried out only if no rule
// ends the job first. So no limit counts a restart that a finished job would have made.
type end struct {
	account *ledger.Account
	rank    int
	// pod is the pod as it ended. If its container restarts in place, that is as if the pod had failed with its container: see AtLastExit and AtExitBeforeLoss.
	pod   podstate.Pod
	state podstate.State // of the pod. In a FailedInPod pod the code can run again; a Stranded pod has not ended, but runs no code any more
	consequence
}

// consequence is what follows from an end. endOf begins it. Then those complete it who are named with the fields, in the order of the functions here: excuse,
// obey (failure_policy.go), applyNoProgress, joinIfIncluded (hang.go) and moveFirstFailureToFront.
type consequence struct {
	countsAs      ledger.Count // set by endOf; changed by excuse, obey and joinIfIncluded
	mayRunAgain   bool         // by policy and limit, or by a rule of failurePolicy. Set by endOf; changed by all but moveFirstFailureToFront
	why           string       // what happened, for events and conditions. Set by endOf; excuse and joinIfIncluded add to it
	isExcused     bool         // it failed because another replica was disrupted, so it counts as a disruption. Set by excuse
	rule          string       // the rule of spec.failurePolicy that decided; "" if none did. Set by obey and applyNoProgress; joinIfIncluded takes it back
	failsJob      bool         // it fails the job, by rule. Set by obey and applyNoProgress
	whyNoProgress string       // why it fails the job, if the reason is not a rule of the list but noProgress. Set by applyNoProgress
	inCountedHang bool         // it belongs to a hang that is counted already. Set by joinIfIncluded, not in outcomes.ended: see applyLimits
	restartCause  *end         // the failure that users are told about, if all replicas restart with this end, but another one was first. Set by moveFirstFailureToFront
}

func (e end) isCounted() bool { return e.countsAs == ledger.Restart }

// hasSucceeded reports whether the code has succeeded. That is an end all the same if the code is run again.
func (e end) hasSucceeded() bool { return e.state == podstate.Succeeded }

// recordOutcomes writes into the ledger what the pods report: who succeeded, and who failed for good. A finished job's ledger is closed.
func recordOutcomes(w World, draft ledger.Draft, replicas *roster.Roster) outcomes {
	job, now := w.Job, w.Now
	o := outcomes{noProgress: job.Status.NoProgress}
	if job.Status.CompletionTime != nil {
		return o
	}
	forgetScaledDown(draft, replicas)
	var ended []end
	disturbed, trains := false, draft.Trains()
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
		disturbed = disturbed || slices.Contains(disturbances, state)
		if e, isEnd := endOf(draft.Ledger, t, rank, state); isEnd {
			ended = append(ended, e)
		} else if state == podstate.Succeeded {
			draft.Succeed(t.Account, rank)
			o.noteSuccess(pod)
		}
	}
	slices.SortStableFunc(ended, func(a, b end) int { return byEnd(a.pod, b.pod) })
	if disturbed && draft.RestartsTogether() {
		excuse(ended)
	}
	o.ended, o.hang = ended, lastHang(job, draft.Ledger)
	o.furthest = furthestOf(w, replicas, ended)
	if o.waitsFor = max(untilCause(job, replicas, ended, disturbed, now), o.untilStep(job, disturbed, now)); o.waitsFor == 0 {
		o.count(job, draft)
	}
	return o
}

// podStateOf returns what a replica's pod means for it. Matters is false if there is no pod, or the replica has finished: then nothing has to be recorded.
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

// moveFirstFailureToFront has the first failure be the one that is told. It comes to the head of failures, or becomes the reason for the restart of all replicas.
// But if a rule fails the job, the failure that it judged stays at the head.
func (o *outcomes) moveFirstFailureToFront(whole bool) {
	first := firstOf(o.ended)
	if first == nil {
		return
	}
	if whole && len(o.allowedRestarts) > 0 && isFailure(&o.allowedRestarts[0]) {
		o.allowedRestarts[0].restartCause = first
	}
	if i := slices.IndexFunc(o.failures, func(s status.Failure) bool { return s.Pod == first.pod.Name }); i > 0 && (o.failingRule == "" || first.failsJob) {
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

// disturbances are the states of pods that something outside the job has ended, or is about to end.
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

// endOf returns how a replica has ended, by the state of its pod, and whether it has. It has not if its pod lives, does not matter, or has done its
// work. The first row that fits holds. "Alone" is for restartScope Replica, "by policy" for what its policy and the limits allow.
//
//	the pod is                    and                                            function         counts as   may run again
//	Succeeded                     it is auxiliary                                endOf            Uncounted   yes
//	Succeeded                     its policy is Always, and the limits allow it  endOf            Restart     yes
//	Succeeded                     otherwise                                      endOf            no end      -
//	Failed                        it is auxiliary                                endOf            Uncounted   yes
//	Failed                        the failure is counted, and the pod removed    endOfCounted     Disruption  unless Never
//	Failed                        the failure is counted                         endOfCounted     Uncounted   yes
//	Failed                        otherwise                                      endOf            Restart     by policy
//	FailedInPod                   lost by its node after a new failure, alone    endOfExit        Restart     by policy
//	FailedInPod                   lost by its node                               endOfExit        Disruption  unless Never
//	FailedInPod                   otherwise                                      endOfExit        Restart     by policy
//	Stranded                      its last end is counted, alone                 endOfStranded    Uncounted   yes
//	Stranded                      otherwise                                      endOfStranded    Disruption  unless Never
//	Disrupted, Lost               in debug mode                                  endByDisruption  Uncounted   yes
//	Disrupted, Lost               its code has not started                       endByDisruption  Disruption  yes
//	Disrupted, Lost               otherwise                                      endByDisruption  Disruption  unless Never
//	Terminating                   all others stop with it                        earlyDisruption  Disruption  yes
//	Terminating                   otherwise                                      earlyDisruption  no end      -
//	Alive, Behind, AwaitingPhase  -                                              endOf            no end      -
//	Superseded, Unwanted          -                                              endOf            no end      -
func endOf(l *ledger.Ledger, t *roster.Type, rank int, state podstate.State) (e end, ended bool) {
	pod := t.Pod(rank)
	e = end{account: t.Account, rank: rank, pod: pod, state: state}
	switch state {
	case podstate.Succeeded:
		if !l.RunsAgain(t.Account, rank) {
			return e, false
		}
		e.why = status.RunsAlways(pod.Name)
		if t.Auxiliary {
			e.countsAs, e.why = ledger.Uncounted, status.StillServes(pod.Name)
		}
	case podstate.FailedInPod, podstate.Stranded:
		return endOfContainer(l, t, e), true
	case podstate.Failed:
		if pod.HasCounted(t.Exits(rank, pod.UID)) {
			return endOfCounted(t, e), true
		}
		e.why = pod.FailureSentence()
		if t.Auxiliary {
			e.countsAs = ledger.Uncounted
		}
	case podstate.Disrupted, podstate.Lost:
		return endByDisruption(t, e), true
	case podstate.Terminating:
		return earlyDisruption(l, t, e)
	case podstate.Alive, podstate.Superseded, podstate.Unwanted, podstate.Behind, podstate.AwaitingPhase:
		return e, false
	}
	e.mayRunAgain = t.Policy.Allows(e.pod.Code()) && l.IsWithinLimit(t.Account, rank)
	return e, true
}

// endOfCounted returns the end of a replica whose pod has failed by an end of its container that is counted already. Its new pod costs nothing.
func endOfCounted(t *roster.Type, e end) end {
	if e.pod.IsRemoved() {
		return endByDisruption(t, e)
	}
	e.countsAs, e.mayRunAgain, e.why = ledger.Uncounted, true, status.NodeGivesUp(e.pod.Name)
	return e
}

// endByDisruption returns the end of a replica whose pod was ended from outside the job.
func endByDisruption(t *roster.Type, e end) end {
	e.countsAs, e.why = ledger.Disruption, e.pod.DisruptionSentence()
	if podstate.IsDebug(e.pod.Pod) {
		e.countsAs = ledger.Uncounted
	}
	// What Never forbids is to start code again that has started.
	e.mayRunAgain = t.Policy.Kind != v1beta1.RestartNever || !e.pod.HasStarted() || podstate.IsDebug(e.pod.Pod)
	return e
}

// endOfContainer returns the end of a replica whose container has ended while its pod has not.
func endOfContainer(l *ledger.Ledger, t *roster.Type, e end) end {
	if e.state == podstate.Stranded {
		return endOfStranded(l, t, e)
	}
	return endOfExit(l, t, e)
}

// endOfExit returns the end of a replica whose container has failed, and which the kubelet starts again. If its node has lost the container since, a
// failure from before the loss comes first, unless it is counted. The loss follows in a later reconcile.
func endOfExit(l *ledger.Ledger, t *roster.Type, e end) end {
	if !e.pod.WasLostByNode() {
		return endByCode(l, t, e, e.pod.AtLastExit())
	}
	if !l.RestartsTogether() && e.pod.ExitsBeforeLoss() > t.Exits(e.rank, e.pod.UID) {
		return endByCode(l, t, e, e.pod.AtExitBeforeLoss())
	}
	e.pod = e.pod.AtLastExit()
	e.state = podstate.Stranded
	e.countsAs, e.mayRunAgain, e.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, e.pod.DisruptionSentence()
	return e
}

// endByCode returns the end of a replica whose code has failed, as the pod shows it.
func endByCode(l *ledger.Ledger, t *roster.Type, e end, pod podstate.Pod) end {
	e.pod, e.why = pod, pod.FailureSentence()
	e.mayRunAgain = t.Policy.Allows(pod.Code()) && l.IsWithinLimit(t.Account, e.rank)
	return e
}

// endOfStranded returns the end of a replica whose container stays ended. If that end is counted already, the new pod is not counted. But with
// restartScope Job it still counts as a disruption, because all replicas begin again with it.
func endOfStranded(l *ledger.Ledger, t *roster.Type, e end) end {
	e.countsAs, e.mayRunAgain, e.why = ledger.Disruption, t.Policy.Kind != v1beta1.RestartNever, e.pod.StrandedSentence()
	if !l.RestartsTogether() && e.pod.HasCountedLast(t.Exits(e.rank, e.pod.UID)) {
		e.countsAs, e.mayRunAgain = ledger.Uncounted, true
	}
	return e
}

// excuse counts failures as disruptions. It is for jobs whose replicas restart together, while one replica is being disrupted. The others fail
// because they lose that one, whichever end is seen first.
func excuse(ended []end) {
	for i := range ended {
		if e := &ended[i]; isFailure(e) {
			e.countsAs, e.mayRunAgain, e.isExcused = ledger.Disruption, e.account.Policy.Kind != v1beta1.RestartNever, true
			e.why = status.WhileDisrupted(e.why)
		}
	}
}
