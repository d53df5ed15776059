package kernel

import (
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
)

// end is how a replica has ended, and the ruling on that. A restart is carried out only if no rule ends the job first. So no limit counts a restart
// that a finished job would have made.
type end struct {
	account *ledger.Account
	rank    int
	// pod is the pod as it ended. If its container restarts in place, that is as if the pod had failed with its container: see AtLastExit and
	// AtExitBeforeLoss.
	pod   podstate.Pod
	state podstate.State // of the pod. In a FailedInPod pod the code can run again; a Stranded pod has not ended, but runs no code any more
	ruling
	// othersGoOn says that it neither restarts all replicas nor fails the job. The decide stage finds that: see outcomes.findWhereJobGoesOn.
	othersGoOn bool
}

// goesOnWithout reports whether the job goes on without the replica, which has finished.
func (e *end) goesOnWithout() bool { return e.othersGoOn && e.account.HasFinished(e.rank) }

// ruling is what becomes of an end: the replica runs again, or has failed for good. endOf makes it. After that nothing changes it but the four
// functions at the end of this file, in their order: excuse, obey, failJob and joinCountedHang.
type ruling struct {
	countsAs      ledger.Count
	mayRunAgain   bool   // by policy and limit, or by a rule of failurePolicy
	why           string // what happened, for events and conditions
	isExcused     bool   // it failed because another replica was disrupted, so it counts as a disruption
	rule          string // the rule of spec.failurePolicy that decided; "" if none did
	whyJobFails   string // why it fails the job; "" if it does not
	inCountedHang bool   // it belongs to a hang that is counted already. This is set in copies of the ends: see applyLimits
}

func (e *end) isCounted() bool { return e.countsAs == ledger.Restart }

// failsJob reports whether it fails the job, by a rule of spec.failurePolicy.
func (e *end) failsJob() bool { return e.whyJobFails != "" }

// hasSucceeded reports whether the code has succeeded. That is an end all the same if the code is run again.
func (e *end) hasSucceeded() bool { return e.state == podstate.Succeeded }

// isFailure reports whether a replica has failed, and not been disrupted. Under policy Always a success is counted, too, but is no failure.
func isFailure(e *end) bool {
	return (e.isCounted() || e.countsAs == ledger.Excepted) && !e.hasSucceeded()
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
		why := status.RunsAlways(pod.Name)
		if t.Auxiliary {
			why = status.StillServes(pod.Name)
		}
		return e.byPolicy(l, why), true
	case podstate.Failed:
		if pod.HasCounted(t.Exits(rank, pod.UID)) {
			return endOfCounted(e), true
		}
		return e.byPolicy(l, pod.FailureSentence()), true
	case podstate.FailedInPod:
		return endOfExit(l, e), true
	case podstate.Stranded:
		return endOfStranded(l, e), true
	case podstate.Disrupted, podstate.Lost:
		return endByDisruption(e), true
	case podstate.Terminating:
		return earlyDisruption(l, e)
	case podstate.Alive, podstate.Superseded, podstate.Unwanted, podstate.Behind, podstate.AwaitingPhase:
	}
	return e, false
}

// byPolicy returns an end of code with the ruling of policy and limits.
func (e end) byPolicy(l *ledger.Ledger, why string) end {
	e.ruling = ruling{countsAs: ledger.Restart, mayRunAgain: e.account.Policy.Allows(e.pod.Code()) && l.IsWithinLimit(e.account, e.rank), why: why}
	if e.account.Auxiliary {
		e.countsAs = ledger.Uncounted
	}
	return e
}

// asDisruption returns an end with the ruling on disruptions.
func (e end) asDisruption(why string) end {
	e.ruling = ruling{countsAs: ledger.Disruption, mayRunAgain: e.account.Policy.Kind != v1beta1.RestartNever, why: why}
	return e
}

// endOfCounted returns the end of a replica whose pod has failed by an end of its container that is counted already. Its new pod costs nothing.
func endOfCounted(e end) end {
	if e.pod.IsRemoved() {
		return endByDisruption(e)
	}
	e.ruling = ruling{countsAs: ledger.Uncounted, mayRunAgain: true, why: status.NodeGivesUp(e.pod.Name)}
	return e
}

// endByDisruption returns the end of a replica whose pod was ended from outside the job.
func endByDisruption(e end) end {
	e = e.asDisruption(e.pod.DisruptionSentence())
	if !e.pod.HasStarted() { // what Never forbids is to start code again that has started
		e.mayRunAgain = true
	}
	if podstate.IsDebug(e.pod.Pod) {
		e.countsAs, e.mayRunAgain = ledger.Uncounted, true
	}
	return e
}

// endOfExit returns the end of a replica whose container has failed, and which the kubelet starts again. If its node has lost the container since, a
// failure from before the loss comes first, unless it is counted. The loss follows in a later reconcile.
func endOfExit(l *ledger.Ledger, e end) end {
	switch {
	case !e.pod.WasLostByNode():
		e.pod = e.pod.AtLastExit()
	case !l.RestartsTogether() && e.pod.ExitsBeforeLoss() > e.account.Exits(e.rank, e.pod.UID):
		e.pod = e.pod.AtExitBeforeLoss()
	default:
		e.pod, e.state = e.pod.AtLastExit(), podstate.Stranded
		return e.asDisruption(e.pod.DisruptionSentence())
	}
	return e.byPolicy(l, e.pod.FailureSentence())
}

// endOfStranded returns the end of a replica whose container stays ended. If that end is counted already, the new pod is not counted. But with
// restartScope Job it still counts as a disruption, because all replicas begin again with it.
func endOfStranded(l *ledger.Ledger, e end) end {
	e = e.asDisruption(e.pod.StrandedSentence())
	if !l.RestartsTogether() && e.pod.HasCountedLast(e.account.Exits(e.rank, e.pod.UID)) {
		e.countsAs, e.mayRunAgain = ledger.Uncounted, true
	}
	return e
}

// excuse counts failures as disruptions. It is for jobs whose replicas restart together, while one replica is being disrupted. The others fail
// because they lose that one, whichever end is seen first.
func excuse(ended []*end) {
	for _, e := range ended {
		if isFailure(e) {
			*e = e.asDisruption(status.WhileDisrupted(e.why))
			e.isExcused = true
		}
	}
}

// obey has a failure become what a rule of spec.failurePolicy asks for.
func (e *end) obey(l *ledger.Ledger, rule *v1beta1.FailurePolicyRule, name string) {
	e.rule = name
	switch rule.Action {
	case v1beta1.FailureActionFail:
		e.failJob(name, status.FailsByRule(name))
	case v1beta1.FailureActionRestart:
		if ptr.Deref(rule.Counts, true) {
			e.mayRunAgain = l.IsWithinLimit(e.account, e.rank)
		} else {
			e.mayRunAgain, e.countsAs = true, ledger.Excepted
		}
	}
}

// failJob has a failure fail the job, by a rule of the list or by noProgress.
func (e *end) failJob(rule, why string) {
	e.rule, e.whyJobFails, e.mayRunAgain = rule, why, false
}

// joinCountedHang leaves the restart of a replica uncounted, because its end belongs to a hang that is counted. If a rule restarts the replica, it
// still does.
func (e *end) joinCountedHang() {
	e.mayRunAgain = e.rule != "" || e.account.Policy.Allows(e.pod.Code())
	e.countsAs, e.inCountedHang, e.rule = ledger.Uncounted, true, ""
	e.why += ", in a hang that is counted"
}
