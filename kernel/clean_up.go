package kernel

import (
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/incident"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// What becomes of the pods of a job that has finished.

// forFinishedJob lets go of a pod of a job that has finished, and cleans up by the job's policy.
func (a *acting) forFinishedJob(t *roster.Type, rank int, pod podstate.Pod) {
	waits, untilStranded := a.waitsForOrder(t, rank, pod)
	isRemoved, untilRemoved := a.isRemoved(t, rank, pod)
	a.wakeAfter(soonest(untilStranded, untilRemoved))
	switch {
	case isRemoved, waits && pod.Spec.NodeName == "": // a pod without a node has no kubelet to end it, and no logs
		a.removeFinished(t, rank, pod)
	case t.HasFinished(rank):
		a.releaseFinished(pod, "the job has finished")
	case waits:
		a.stopWaiting(pod, "the job has finished")
	default:
		a.releaseKept(pod, "the job has finished")
	}
}

// isRemoved reports whether the clean-up of a finished job deletes a pod now. Until is after what time that may change; 0 if it does not by itself.
func (a *acting) isRemoved(t *roster.Type, rank int, pod podstate.Pod) (removed bool, until time.Duration) {
	cleansUp, until := a.cleansUp(t, rank, pod)
	if !cleansUp {
		return false, until
	}
	mayReport, untilReported := a.addedMayReport(pod)
	return !mayReport, soonest(until, untilReported)
}

// removeFinished deletes a pod of a job that has finished. Its finalizer stays as long as the pod may tell the cause of the job's failure.
func (a *acting) removeFinished(t *roster.Type, rank int, pod podstate.Pod) {
	mayTell, until := a.mayTellCause(t, rank, pod)
	a.wakeAfter(until)
	if mayTell {
		a.deletePod(pod.Pod, "the job has finished")
	} else {
		a.discard(pod.Pod, "the job has finished")
	}
}

// mayTellCause reports whether to keep a pod that may be the cause of a job's failure. It does if the job has just failed, and all known failures
// followed from the end of another pod. The pod then keeps its finalizer until its end has been read, for a minute at most. After that the job is
// looked at again: until says when. A pod that has a node may run, though no kubelet has said so yet.
func (a *acting) mayTellCause(t *roster.Type, rank int, pod podstate.Pod) (may bool, until time.Duration) {
	left := incident.UntilGivenUp(a.firstFailure, a.Now, a.sinceEnd())
	if a.hasSucceeded || left <= 0 || pod.HasEnded() || pod.Spec.NodeName == "" || t.Auxiliary || t.HasSucceeded(rank) || a.replicas.IsToBeReplaced(t, rank) {
		return false, 0
	}
	return true, left
}

// cleansUp reports whether a finished job's cleanUpPolicy asks for a pod to be deleted. Until is after what time that may change; 0
// if it does not by itself.
func (a *acting) cleansUp(t *roster.Type, rank int, pod podstate.Pod) (deletes bool, until time.Duration) {
	switch spec.CleanUp(a.Job) {
	case v1beta1.CleanUpAll:
		return true, 0
	case v1beta1.CleanUpUnfinished:
		deletes, until = a.isLeftOver(t, rank, pod)
	default: // None
		deletes = a.runsInVain(t, pod)
	}
	return deletes || a.replicas.IsToBeReplaced(t, rank), until
}

// timeToEnd is how long cleanUpPolicy Unfinished lets code run on after its job has succeeded. In a collective all members end within moments, and a
// deleted pod would take its log along.
const timeToEnd = 30 * time.Second

// succeeds reports whether the job has succeeded, or does now.
func succeeds(job *v1beta1.GenericJob, v verdict.Verdict) bool {
	return v.Course == verdict.Succeed || job.Status.Phase == v1beta1.JobSucceeded
}

// isLeftOver reports whether a pod of a finished job still runs for nothing. Such a pod is not about to end, and is not kept for the logs of a
// failure. Until is how much longer it may still end by itself; 0 if it may not.
func (a *acting) isLeftOver(t *roster.Type, rank int, pod podstate.Pod) (leftOver bool, until time.Duration) {
	if pod.HasEnded() || a.keepsLogs(t, rank, pod) {
		return false, 0
	}
	until = a.untilMustEnd(pod)
	return until == 0, until
}

// untilMustEnd returns how much longer to leave a pod alone because its code may still end by itself. It may after its job has succeeded. Otherwise
// untilMustEnd returns 0.
func (a *acting) untilMustEnd(pod podstate.Pod) time.Duration {
	if !a.hasSucceeded || !pod.HasStarted() || pod.DeletionTimestamp != nil {
		return 0
	}
	return max(0, timeToEnd-a.sinceEnd())
}

// sinceEnd returns how long ago the job ended; 0 if it ends in this reconcile. If the clock was set back by more than incident.CauseAfterEnd, nobody
// knows. Then it returns a time after which nothing waits any more.
func (a *acting) sinceEnd() time.Duration {
	done := a.Job.Status.CompletionTime
	if done == nil {
		return 0
	}
	since := a.Now.Sub(done.Time)
	if since < -incident.CauseAfterEnd {
		return incident.CauseAfterEnd
	}
	return max(0, since)
}
