package ending

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// disruptionReasons are the pod status reasons that the kubelet and the node life cycle give to pods which they ended or
// never let start. See "Pod disruption conditions" and the kubelet's admission handlers.
var disruptionReasons = []string{
	"Evicted", "Preempting", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "UnexpectedAdmissionError",
	"NodeAffinity", "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage", "TopologyAffinityError",
}

// isDisruption says whether a failed pod was ended by something outside the job and not by its own code. Disruptions
// spend no limit (trainer#1560: a deleted pod's exit code 137 must not fail the job).
func isDisruption(pod *corev1.Pod) bool {
	finished := lastFinish(pod)
	if pod.Status.Reason == "DeadlineExceeded" {
		return false // the template's own activeDeadlineSeconds: the user asked for it
	}
	if c := disruptionTarget(pod); c != nil && (finished.IsZero() || !finished.Before(c.LastTransitionTime.Time)) {
		return true
	}
	if slices.Contains(disruptionReasons, pod.Status.Reason) || exitOf(pod) == nil {
		return true
	}
	return pod.DeletionTimestamp != nil && !failedByItself(pod)
}

// endedByItself says whether a pod that succeeded had done so before anyone asked for its deletion. Code that is asked to
// go often saves its state and exits with 0: that is not success. The times tell, unless both lie in one second, or none
// is known, or no grace period is left (see askedToGo). Then a mark does, for it is only put on pods that had not
// finished; so does DisruptionTarget, if it is older. Without any of them the benefit of
// the doubt is success: finished work must not run again.
func endedByItself(pod *corev1.Pod) bool {
	asked, deleting := askedToGo(pod)
	finished := lastFinish(pod)
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

// disruptionTarget is the condition by which Kubernetes says that it is about to end the pod; nil without it. Evicting a
// pod that has finished sets it, too, so its time matters.
func disruptionTarget(pod *corev1.Pod) *corev1.PodCondition {
	if c := condition(pod, corev1.DisruptionTarget); c != nil && c.Status == corev1.ConditionTrue {
		return c
	}
	return nil
}

// failedByItself is the same for a pod that failed. Where neither the times nor a mark tell, the exit code does: 137 and
// 143 are what code exits with that is told to go, and does not handle it. Anything else was the code's own failure,
// which must be counted even if somebody removes the pod before the operator has seen it.
func failedByItself(pod *corev1.Pod) bool {
	asked, deleting := askedToGo(pod)
	finished := lastFinish(pod)
	g := pod.DeletionGracePeriodSeconds
	switch {
	case !deleting:
		return true
	case g != nil && *g > 0 && !finished.IsZero():
		return finished.Before(asked)
	case Marked(pod, v1beta1.AnnotationDisrupted):
		return false
	default:
		e := exitOf(pod)
		return e != nil && (e.reason == oomKilled || e.code != 137 && e.code != 143)
	}
}

// askedToGo is when the pod's deletion was asked for: deletionTimestamp is that time plus the grace period. But once the
// kubelet has seen all containers end it deletes the pod with no grace period; a finalizer that keeps the pod then gets
// to see that moment instead, because the apiserver moves deletionTimestamp no further back than to its present.
func askedToGo(pod *corev1.Pod) (time.Time, bool) {
	if pod.DeletionTimestamp == nil {
		return time.Time{}, false
	}
	asked := pod.DeletionTimestamp.Time
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		asked = asked.Add(-time.Duration(*g) * time.Second)
	}
	return asked, true
}

// lastFinish is when the last container finished, or, if none has begun, the last init container; zero if unknown.
func lastFinish(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, statuses := range containersOf(pod) {
		for _, c := range statuses {
			if t := c.State.Terminated; t != nil && t.FinishedAt.After(last) {
				last = t.FinishedAt.Time
			}
		}
		if !last.IsZero() {
			break
		}
	}
	return last
}

// containersOf are the states of a pod's containers and then of its init containers. Those come last because a sidecar
// among them is killed when the containers are done, and tells nothing; if one of the others fails, no container begins.
func containersOf(pod *corev1.Pod) [][]corev1.ContainerStatus {
	return [][]corev1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses}
}

// oomKilled is the kubelet's reason for a container that ran out of its memory limit.
const oomKilled = "OOMKilled"

// exit is how a container ended.
type exit struct {
	container string
	code      int32
	reason    string
}

// inventedReasons are what a node says about containers of whose end it knows nothing, with an exit code that no code of
// the user's has exited with: the kubelet, and containerd (code 255) of those that a power failure or a crash of
// containerd itself has cost it.
var inventedReasons = []string{"ContainerStatusUnknown", "Unknown"}

// exitOf finds the container whose end made the pod fail: the first one, init containers last, that exited with another
// code than 0. It is nil if no code of the user's has exited so.
func exitOf(pod *corev1.Pod) *exit {
	for _, statuses := range containersOf(pod) {
		for _, c := range statuses {
			t := c.State.Terminated
			if t != nil && t.ExitCode != 0 && !slices.Contains(inventedReasons, t.Reason) {
				return &exit{container: c.Name, code: t.ExitCode, reason: t.Reason}
			}
		}
	}
	return nil
}

// Code is the exit code of a pod that has ended: 1 where it failed, and no code of the user's has exited so.
func Code(pod *corev1.Pod) int32 {
	if pod.Status.Phase != corev1.PodFailed {
		return 0
	}
	if e := exitOf(pod); e != nil {
		return e.code
	}
	return 1
}

// HasStarted says whether code of the user's has begun to run in the pod, so far as is known.
func HasStarted(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodRunning {
		return true
	}
	for _, statuses := range containersOf(pod) {
		for _, c := range statuses {
			if c.State.Running != nil || c.State.Terminated != nil {
				return true
			}
		}
	}
	return false
}
