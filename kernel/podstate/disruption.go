package podstate

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/spec"
)

// disruptionReasons are the status reasons of pods that the kubelet or the node life cycle has ended. Source: "Pod disruption conditions".
var disruptionReasons = []string{"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated"}

// isDisruptionReason reports whether a status reason says that something outside the job has ended a pod, or never let it start.
func isDisruptionReason(reason string) bool {
	return slices.Contains(disruptionReasons, reason) || IsRejection(reason)
}

// hasDisruptionReason reports whether the status reason of a pod says so. An eviction for a limit of the pod's own has the reason of another one.
func (p Pod) hasDisruptionReason() bool {
	return isDisruptionReason(p.Status.Reason) && !p.wasOverItsLimit()
}

// isDisruption reports whether a failed pod was ended by something outside the job and not by its own code. Disruptions
// spend no limit (trainer#1560: a deleted pod's exit code 137 must not fail the job).
func (p Pod) isDisruption() bool {
	if p.Status.Reason == deadlineExceeded || p.endedByLimit() {
		return false // the activeDeadlineSeconds or the limits of the template: the user asked for it
	}
	decided, target := p.DecidedAt(), disruptionTarget(p.Pod)
	switch before := target != nil && decided.Before(p.mayBeEndingSince(target)); {
	case target != nil && (decided.IsZero() || !before):
		return true // Kubernetes had begun to end it
	case p.exit() == nil:
		return true // none of its code has failed
	case p.hasDisruptionReason() && (!before || !p.codeHasEnded()): // otherwise only what ran on was ended
		return true
	default:
		return p.DeletionTimestamp != nil && !p.failedByItself()
	}
}

// endedByItself reports whether a pod that succeeded had done so before anyone asked for its deletion. Code that is asked to stop often saves its
// state and exits with 0, and that is no success. These show it, in this order:
//   - The times of both. But they may lie in one second, or be unknown; or no grace period is left (see askedToStop).
//   - A mark: only a pod that had not finished gets one.
//   - The condition DisruptionTarget, if it is older than the end.
//
// In doubt it is a success, because finished work must not run again.
func (p Pod) endedByItself() bool {
	pod := p.Pod
	asked, deleting := askedToStop(pod)
	decided := p.DecidedAt()
	target := disruptionTarget(pod)
	g := pod.DeletionGracePeriodSeconds
	switch {
	case !deleting, g != nil && *g > 0 && !decided.IsZero() && decided.Before(asked):
		return true
	case HasMark(pod, v1beta1.AnnotationDisrupted), HasMark(pod, v1beta1.AnnotationStopped):
		return false
	case target != nil && target.LastTransitionTime.Time.Before(decided):
		return false
	default:
		return decided.IsZero() || !decided.After(asked)
	}
}

// awaitsPhase reports whether to wait for the phase of a pod whose containers have all exited with 0. A kubelet may have asked its code to stop, and
// it says so only with the phase.
//
// It is not waited for if something else still runs in the pod, because it would never come. It is not waited for either if a marked pod is being
// deleted. Now the times show whether the code ended before. Later, without a grace period, the mark would hide that.
func (p Pod) awaitsPhase() bool {
	hides := p.DeletionTimestamp != nil && (HasMark(p.Pod, v1beta1.AnnotationDisrupted) || HasMark(p.Pod, v1beta1.AnnotationStopped))
	return !IsOver(p.Pod) && !p.othersRun() && !hides
}

// disruptionTarget returns the condition by which Kubernetes says that it is about to end the pod; nil without it. It is set even if a pod is evicted
// that has finished, so its time matters.
func disruptionTarget(pod *corev1.Pod) *corev1.PodCondition {
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

// endedByKubelet reports whether the kubelet has told the code of a pod to stop: it evicts or preempts the pod, or its node shuts down. If the code
// saves its state then and exits with 0, the kubelet calls the pod Succeeded.
//
// If nothing else ran in the pod, the kubelet has ended the code. Code that ends by itself ends such a pod at once. If something else did, the code
// may have ended by itself before, and the kubelet has ended the rest. Then the times decide.
func (p Pod) endedByKubelet() bool {
	target, decided := disruptionTarget(p.Pod), p.DecidedAt()
	if target == nil || target.Reason != corev1.PodReasonTerminationByKubelet || !IsOver(p.Pod) || decided.IsZero() {
		return false
	}
	somethingElse := p.ranOn(decided) || p.anyContainer(wasNeverMade) // whose image was pulled until now
	return !somethingElse || !decided.Before(target.LastTransitionTime.Time)
}

// ranOn reports whether something in a pod may have run on after a time.
func (p Pod) ranOn(after time.Time) bool {
	return p.anyContainer(func(s *corev1.ContainerStatus) bool {
		t := s.State.Terminated
		return !wasNeverMade(s) && (t == nil || t.FinishedAt.IsZero() || t.FinishedAt.After(after))
	})
}

// mayBeEndingSince returns since when Kubernetes may have been ending a pod, by its condition DisruptionTarget. Mostly that is the time of the
// condition. But a kubelet sets this condition only when the containers have ended. Code with the exit code of a kill signal was told to stop up to a
// grace period earlier.
func (p Pod) mayBeEndingSince(target *corev1.PodCondition) time.Time {
	at := target.LastTransitionTime.Time
	if e := p.exit(); target.Reason == corev1.PodReasonTerminationByKubelet && e != nil && e.endedByKillSignal() {
		at = at.Add(-spec.Grace(p.Template))
	}
	return at
}

// failedByItself reports whether the code of a pod that failed had done so before anyone asked for its deletion. If neither the times nor a mark show
// that, the exit code does. Code that is told to stop, and does not handle the signal, exits with 137 or 143. Any other code is a failure of its own.
// It must be counted even if somebody deletes the pod before the operator has seen it.
func (p Pod) failedByItself() bool {
	pod := p.Pod
	asked, deleting := askedToStop(pod)
	decided := p.DecidedAt()
	g := pod.DeletionGracePeriodSeconds
	switch {
	case !deleting:
		return true
	case g != nil && *g > 0 && !decided.IsZero():
		return decided.Before(asked)
	case HasMark(pod, v1beta1.AnnotationDisrupted):
		return false
	default:
		e := p.exit()
		return e != nil && !e.endedByKillSignal()
	}
}

// LacksMark reports whether a pod that somebody deletes still needs its mark, because it has not finished. A pod whose code failed before the deletion
// gets none, even if its phase does not tell the failure yet. That happens to a container that restarts in place, which is not started again then. It
// also happens to an init container, whose end a kubelet may tell before the phase. Nor does a pod get one whose main container had ended before. If
// both fall into one second, a success counts, and a mark would hide that.
func (p Pod) LacksMark() bool {
	hadEnded := (p.mainEnd() != nil || p.allTerminated() && p.exit() != nil || p.initHasFailed()) && p.failedByItself() || p.MainHasSucceeded() && p.endedByItself()
	return !hadEnded && !HasMark(p.Pod, v1beta1.AnnotationDisrupted) && !HasMark(p.Pod, v1beta1.AnnotationStopped)
}

// initHasFailed reports whether one of the template's init containers has failed for good. Then the pod fails, and its phase says so now or later.
func (p Pod) initHasFailed() bool {
	return slices.ContainsFunc(p.Template.Spec.InitContainers, func(c corev1.Container) bool {
		return c.RestartPolicy == nil && slices.ContainsFunc(p.Status.InitContainerStatuses, func(s corev1.ContainerStatus) bool {
			return s.Name == c.Name && exitOf(s) != nil
		})
	})
}

// askedToStop returns when somebody asked for the pod's deletion: deletionTimestamp minus the grace period. Once the kubelet has seen all containers
// end, it deletes the pod again, without a grace period. Then the apiserver moves deletionTimestamp back to that moment, and the first request is
// forgotten. We see such a pod because of our finalizer.
func askedToStop(pod *corev1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil {
		return time.Time{}, false
	}
	asked := pod.DeletionTimestamp.Time
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		asked = asked.Add(-time.Duration(*g) * time.Second)
	}
	return asked, true
}

// HasFailedUnasked reports whether the pod's code has failed, and not because the pod was told to stop. Code that ended after it was told to stop has
// failed by itself only if it names a cause. A program takes some time to end after an exception. A launcher may even end by the signal. Then it has
// failed by itself if it tells how its process had failed before.
func (p Pod) HasFailedUnasked() bool {
	e := p.exit()
	if e == nil || !p.codeHasEnded() || disruptionTarget(p.Pod) != nil {
		return false
	}
	if e.endedByKillSignal() {
		r := p.Failure()
		code := ptr.Deref(r.WorkerExitCode, 0)
		return r.Follows == "" && code > 0 && output.SignalOf(code) == "" && NamesCause(&r)
	}
	asked, deleting := askedToStop(p.Pod)
	if !deleting || !p.DecidedAt().After(asked) {
		return true
	}
	r := p.Failure() // to read last words takes time
	return r.Follows == "" && NamesCause(&r)
}
