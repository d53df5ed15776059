package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// What the kubelet ends for a limit of the pod's own: its activeDeadlineSeconds, an emptyDir, or ephemeral storage. The user asked for that, so it is a
// failure, and no disruption.

// deadlineExceeded is the kubelet's reason for a pod that was active for longer than its activeDeadlineSeconds.
const deadlineExceeded = "DeadlineExceeded"

// endedByDeadline reports whether the kubelet ended the pod at its activeDeadlineSeconds, and the code that decides had not ended before. The clock
// is the same for both.
func (p Pod) endedByDeadline() bool {
	decided, start, seconds := p.DecidedAt(), p.Status.StartTime, p.Spec.ActiveDeadlineSeconds
	switch {
	case p.Status.Reason != deadlineExceeded:
		return false
	case decided.IsZero() || start == nil || seconds == nil:
		return true
	default:
		return !decided.Before(start.Add(time.Duration(*seconds) * time.Second))
	}
}

// wasToldToEnd reports whether the operator has lowered the deadline of a pod, to end what ran on after the code. A deadline that the template has may
// have passed before.
func (p Pod) wasToldToEnd() bool {
	now, own := p.Spec.ActiveDeadlineSeconds, p.Template.Spec.ActiveDeadlineSeconds
	if now == nil || *now > 1 || own != nil && *own <= 1 {
		return false
	}
	return own == nil || p.Status.StartTime != nil && p.DecidedAt().Before(p.Status.StartTime.Add(time.Duration(*own)*time.Second))
}

// wasOverItsLimit reports whether the kubelet has evicted the pod because it went over a limit of its own, for an emptyDir or for ephemeral storage.
// Other evictions do not look like this. An eviction to help the node, whoever asked for it, has the condition DisruptionTarget. A node that is short
// of disk or memory rejects pods before their code has started.
func (p Pod) wasOverItsLimit() bool {
	return p.Status.Reason == "Evicted" && p.Status.Phase == corev1.PodFailed && disruptionTarget(p.Pod) == nil && p.HasStarted()
}

// evictionTakes is how long the containers of a pod may take to end that is evicted for a limit of its own. The kubelet gives the pod one second, and
// each container at least two more. Source: the eviction manager in pkg/kubelet of Kubernetes.
const evictionTakes = 5 * time.Second

// endedByLimit reports whether the kubelet evicted the pod for a limit of its own, and the code that decides had not ended before. No field says when
// the eviction began. But if something ran on for longer than an eviction takes, the code had ended by itself. What was never made has not run on.
func (p Pod) endedByLimit() bool {
	decided := p.DecidedAt()
	hadEnded := !decided.IsZero() && !p.isUnknown() && p.codeHasEnded() && p.ranOn(decided.Add(evictionTakes))
	return p.wasOverItsLimit() && !hadEnded
}
