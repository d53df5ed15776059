package ending

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// disruptionReasons are the pod status reasons that the kubelet and the node life cycle give to pods which they ended or
// never let start. See "Pod disruption conditions" and the kubelet's admission handlers.
var disruptionReasons = []string{
	"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "UnexpectedAdmissionError",
	"NodeAffinity", "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "TopologyAffinityError",
}

// isDisruption reports whether a failed pod was ended by something outside the job and not by its own code. Disruptions
// spend no limit (trainer#1560: a deleted pod's exit code 137 must not fail the job).
func (p Pod) isDisruption() bool {
	if p.Status.Reason == deadlineExceeded || p.overItsLimit() {
		return false // the template's own activeDeadlineSeconds, or its own limits: the user asked for it
	}
	finished, target := p.EndedAt(), disruptionTarget(p.Pod)
	switch before := target != nil && finished.Before(p.wanted(target)); {
	case target != nil && (finished.IsZero() || !before):
		return true // Kubernetes had begun to end it
	case p.exit() == nil:
		return true // no code of it has ended
	case slices.Contains(disruptionReasons, p.Status.Reason) && (!before || !p.allTerminated()): // else only what was left was ended
		return true
	default:
		return p.DeletionTimestamp != nil && !p.failedByItself()
	}
}

// deadlineExceeded is the kubelet's reason for a pod that was active for longer than its activeDeadlineSeconds.
const deadlineExceeded = "DeadlineExceeded"

// overItsLimit reports whether the kubelet has evicted the pod because it went over a limit of its own: of an emptyDir, or of
// ephemeral storage. An eviction to help the node, whoever asked for it, has the condition DisruptionTarget. A pod that a node
// short of disk or memory has turned away has had no code.
func (p Pod) overItsLimit() bool {
	return p.Status.Reason == "Evicted" && p.Status.Phase == corev1.PodFailed && disruptionTarget(p.Pod) == nil && p.HasStarted()
}

// endedByItself reports whether a pod that succeeded had done so before anyone asked for its deletion. Code that is asked to
// stop often saves its state and exits with 0: that is not success. The times show that, unless both lie in one second, or none
// is known, or no grace period is left (see askedToStop). Then a mark does, for it is only put on pods that had not
// finished; so does DisruptionTarget, if it is older. Without any of them the benefit of
// the doubt is success: finished work must not run again.
func (p Pod) endedByItself() bool {
	pod := p.Pod
	asked, deleting := askedToStop(pod)
	finished := p.EndedAt()
	target := disruptionTarget(pod)
	g := pod.DeletionGracePeriodSeconds
	switch {
	case !deleting, g != nil && *g > 0 && !finished.IsZero() && finished.Before(asked):
		return true
	case Marked(pod, v1beta1.AnnotationDisrupted), Marked(pod, v1beta1.AnnotationStopped):
		return false
	case target != nil && target.LastTransitionTime.Time.Before(finished):
		return false
	default:
		return finished.IsZero() || !finished.After(asked)
	}
}

// awaitsPhase reports whether only its phase may say whether a pod succeeded whose containers have all exited with 0. A kubelet may have asked its
// code to stop: then the phase comes with the reason. Beside what runs on it would never come. Nor is it waited for where the times show now that the
// code had ended before a deletion. Once no grace period is left, a mark hides that.
func (p Pod) awaitsPhase() bool {
	hides := p.DeletionTimestamp != nil && (Marked(p.Pod, v1beta1.AnnotationDisrupted) || Marked(p.Pod, v1beta1.AnnotationStopped))
	return !IsOver(p.Pod) && !p.othersRun() && !hides
}

// disruptionTarget is the condition by which Kubernetes says that it is about to end the pod; nil without it. Evicting a
// pod that has finished sets it, too, so its time matters.
func disruptionTarget(pod *corev1.Pod) *corev1.PodCondition {
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

// endedByKubelet reports whether the kubelet has told the code of a pod to stop: it evicts or preempts the pod, or its node shuts down. The kubelet
// calls the pod Succeeded if the code exits with 0, as code does that saves its state first. Code that ends by itself with nothing beside it ends its pod
// at once. With something beside it that may have run on alone, which the kubelet has then ended, if the times allow it.
func (p Pod) endedByKubelet() bool {
	target, decided := disruptionTarget(p.Pod), p.decidedAt()
	if target == nil || target.Reason != corev1.PodReasonTerminationByKubelet || !IsOver(p.Pod) || decided.IsZero() {
		return false
	}
	return !p.ranOn(decided) || !decided.Before(target.LastTransitionTime.Time)
}

// ranOn reports whether something in a pod may have run on after the code had ended that decides.
func (p Pod) ranOn(decided time.Time) bool {
	later := func(s corev1.ContainerStatus) bool {
		t := s.State.Terminated
		return t == nil || t.FinishedAt.IsZero() || t.FinishedAt.After(decided)
	}
	return slices.ContainsFunc(p.Status.ContainerStatuses, later) || slices.ContainsFunc(p.Status.InitContainerStatuses, later)
}

// wanted is when Kubernetes began to end a pod, at the latest, by its condition DisruptionTarget. A kubelet sets that only when the containers have
// ended. If the code exited as it does when it is told to stop, it was told up to a grace period earlier.
func (p Pod) wanted(target *corev1.PodCondition) time.Time {
	at := target.LastTransitionTime.Time
	if e := p.exit(); target.Reason == corev1.PodReasonTerminationByKubelet && e != nil && e.endedByKillSignal() {
		at = at.Add(-spec.Grace(p.Template))
	}
	return at
}

// endedByKillSignal reports whether code exited as it does on an unhandled SIGTERM or SIGKILL. A container that ran out of memory exits with
// 137. If it goes on without the process that was killed, the reason stays, and 143 is the answer to SIGTERM.
func (e *exit) endedByKillSignal() bool {
	return e != nil && (e.code == ToldToEnd || e.code == killed && e.reason != oomKilled)
}

// failedByItself reports whether a pod that failed had done so before anyone asked for its deletion. Where neither the times nor a mark show that, the
// exit code does. 137 and 143 are what code exits with that is told to stop, and does not handle it. Anything else was the code's own failure,
// which must be counted even if somebody removes the pod before the operator has seen it.
func (p Pod) failedByItself() bool {
	pod := p.Pod
	asked, deleting := askedToStop(pod)
	finished := p.EndedAt()
	g := pod.DeletionGracePeriodSeconds
	switch {
	case !deleting:
		return true
	case g != nil && *g > 0 && !finished.IsZero():
		return finished.Before(asked)
	case Marked(pod, v1beta1.AnnotationDisrupted):
		return false
	default:
		e := p.exit()
		return e != nil && !e.endedByKillSignal()
	}
}

// LacksMark reports whether a pod that somebody deletes is to be marked, as it has not finished. Its code may have failed before, though its
// phase does not say so yet: a container that restarts in place is not started again.
func (p Pod) LacksMark() bool {
	hadFailed := p.allTerminated() && p.exit() != nil && p.failedByItself()
	return !hadFailed && !Marked(p.Pod, v1beta1.AnnotationDisrupted) && !Marked(p.Pod, v1beta1.AnnotationStopped)
}

// askedToStop is when somebody asked for the pod's deletion: deletionTimestamp less the grace period. Once the kubelet has seen all containers
// end, it deletes the pod with no grace period. Then the apiserver moves deletionTimestamp back, at most to that moment. A finalizer lets us see it.
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
