package podstate

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/output"
)

// oomKilled is the kubelet's reason for a container that ran out of its memory limit.
const oomKilled = "OOMKilled"

// exit is how a container ended.
type exit struct {
	container string
	code      int32
	reason    string
	words     string // the last, as the kubelet reports them
	began     time.Time
}

// inventedReasons are the reasons that a node gives for a container of whose end it knows nothing. Such an exit code is made up: no code exited with
// it. The first reason is the kubelet's. The second is containerd's, with code 255, after a power failure or a crash of its own.
var inventedReasons = []string{notFound, "Unknown"}

// notFound is the kubelet's reason for a container that ran and that it cannot find any more.
const notFound = "ContainerStatusUnknown"

func isInvented(t *corev1.ContainerStateTerminated) bool {
	return slices.Contains(inventedReasons, t.Reason)
}

// exit returns how the container ended whose end made the replica fail; nil if no code of the user has failed. It is the main container, if one is
// named: the others decide nothing, whether or not it has ended. Else it is the first container with an exit code other than 0. Init containers come last.
func (p Pod) exit() *exit {
	if s := p.statusOf(p.main()); s != nil && s.State.Terminated != nil {
		return exitOf(*s)
	}
	for _, statuses := range p.deciding() {
		for _, c := range statuses {
			if e := exitOf(c); e != nil {
				return e
			}
		}
	}
	return nil
}

func exitOf(c corev1.ContainerStatus) *exit {
	t := c.State.Terminated
	if t == nil || t.ExitCode == 0 || isInvented(t) {
		return nil
	}
	return &exit{container: c.Name, code: t.ExitCode, reason: t.Reason, words: t.Message, began: t.StartedAt.Time}
}

// isUnknown reports whether nobody knows how a container ended that decides the outcome.
func (p Pod) isUnknown() bool {
	return slices.ContainsFunc(p.deciding()[0], func(c corev1.ContainerStatus) bool {
		return c.State.Terminated != nil && isInvented(c.State.Terminated)
	})
}

// Code returns the exit code of a pod that has ended. It is 1 if the pod failed, but no code of the user did.
func (p Pod) Code() int32 {
	if e := p.exit(); e != nil {
		return e.code
	}
	if p.Status.Phase == corev1.PodFailed {
		return 1
	}
	return 0
}

// ExitSIGTERM is the exit code of code that SIGTERM has ended: somebody has told it to end.
const ExitSIGTERM = 143

// killed is the exit code of code that SIGKILL has ended.
const killed = 137

// Code prints an exit code, with the signal that it stands for.
func Code(code int32) string {
	if signal := output.SignalOf(code); signal != "" {
		return fmt.Sprintf("%d (%s)", code, signal)
	}
	return strconv.Itoa(int(code))
}

// endedByKillSignal reports whether code has the exit code of an unhandled SIGTERM or SIGKILL. A container that ran out of memory exits with 137,
// too, but its reason is OOMKilled. If it runs on without the killed process, the reason stays, and a later 143 still stands for SIGTERM.
func (e *exit) endedByKillSignal() bool {
	return e != nil && (e.code == ExitSIGTERM || e.code == killed && e.reason != oomKilled)
}
