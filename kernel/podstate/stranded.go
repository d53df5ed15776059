package podstate

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// A stranded pod: its container that restarts in place has ended, and its node does not start it again.

const (
	// restartPatience is how long a container that has ended may stay so. A kubelet starts it again within seconds.
	restartPatience = 2 * time.Minute
	// longestBackOff is the longest delay that a kubelet may have for that.
	longestBackOff = 5 * time.Minute
)

// UntilStranded returns how long until a pod is stranded, if its container stays ended. It is 0 if the pod is stranded now, and negative if the
// container has not ended.
//
// A pod gets stranded when it loses its sandbox. The kubelet ends its containers then. With restartPolicy Never it makes no second sandbox and starts
// no container again, and still it calls the pod Running. But an eviction looks the same at first, if other containers of the pod take their grace
// period to end. So that is waited for, too.
func (j Judge) UntilStranded(p Pod) time.Duration {
	end, patience := p.endThatStays()
	switch {
	case end == nil, end.FinishedAt.IsZero() && !isInvented(end):
		return -1
	case end.FinishedAt.IsZero():
		return 0 // the node has rebooted, and does not know when the container ended
	}
	if p.othersRunBeside(p.restarting().Name) {
		patience += spec.Grace(p.Template)
	}
	return max(0, end.FinishedAt.Add(patience).Sub(j.Now))
}

// IsStranded reports whether a pod is stranded. A pod is not stranded if only a container still runs in it that the template does not have. The
// operator has the kubelet end such a container, and then the phase says how the pod ended.
func (j Judge) IsStranded(p Pod) bool { return j.UntilStranded(p) == 0 && !p.OnlyAddedRun() }

// endThatStays returns how the container that restarts in place has ended, and how long it may stay ended before the pod is stranded. It returns nil
// if the container has not ended.
func (p Pod) endThatStays() (*corev1.ContainerStateTerminated, time.Duration) {
	s := p.restarting()
	if s == nil || !CanGoOn(p.Pod) {
		return nil, 0
	}
	switch t, w := s.State.Terminated, s.State.Waiting; {
	case t != nil && t.ExitCode != 0:
		return t, restartPatience
	case w != nil && !slices.Contains(onItsWay, w.Reason):
		return s.LastTerminationState.Terminated, longestBackOff + restartPatience
	default:
		return nil, 0
	}
}

// othersRunBeside reports whether another container of the pod has not ended.
func (p Pod) othersRunBeside(name string) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool { return c.Name != name && c.State.Terminated == nil })
}

// StrandedSentence says what has happened to a stranded pod.
func (p Pod) StrandedSentence() string {
	return fmt.Sprintf("The container of Pod[%s] has ended, and node %s has not started it again: the pod may have lost its sandbox", p.Name, p.Spec.NodeName)
}
