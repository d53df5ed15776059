package ending

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/words"
)

// First returns which of some failures came first, and which may have come first as well. They are given in the order in which they were
// heard of; known is how many of them were heard of before the others. What follows from the end of another is first only where nothing else
// is known. Kubelets report times in seconds.
func First(list []v1beta1.ReplicaFailure, known int) (first int, orElse []int) {
	causes := filter(list, nil, func(f *v1beta1.ReplicaFailure) bool { return f.Follows == "" })
	if len(causes) == 0 {
		causes = filter(list, nil, func(*v1beta1.ReplicaFailure) bool { return true })
	}
	if hangs := filter(list, causes, Hung); len(hangs) == len(causes) {
		return firstHang(list, hangs, known)
	}
	// Nodes' clocks tick at different moments: what ended within a second may be reported of two.
	near := earliest(list, causes, 1)
	if naming := filter(list, near, NamesCause); len(naming) > 0 {
		near = earliest(list, naming, 0)
	}
	if near[0] < known {
		return near[0], nil
	}
	return near[0], near[1:]
}

// firstHang returns the hang that was reported, or else found, first, and all others that may have been first. When a hang is found says nothing of
// which began. One with a frame is believed rather than one without.
func firstHang(list []v1beta1.ReplicaFailure, hangs []int, known int) (first int, orElse []int) {
	if withFrame := filter(list, hangs, func(f *v1beta1.ReplicaFailure) bool { return f.Frame != "" }); len(withFrame) > 0 {
		hangs = withFrame
	}
	if first = hangs[0]; first >= known {
		first = earliest(list, hangs, 0)[0]
	}
	return first, slices.DeleteFunc(hangs, func(i int) bool { return i == first })
}

// Hung reports whether a failure is a hang, which the wrapper has found: by its exit code and its words.
func Hung(f *v1beta1.ReplicaFailure) bool {
	return f.ExitCode != nil && *f.ExitCode == words.HangCode && strings.HasPrefix(f.Message, words.HangBegins)
}

// BeganAt is when the container began by whose end the pod failed; zero if unknown.
func (p Pod) BeganAt() time.Time {
	for _, statuses := range p.own() {
		for _, c := range statuses {
			if e := exitOf(c); e != nil {
				return c.State.Terminated.StartedAt.Time
			}
		}
	}
	return time.Time{}
}

// RunsSince returns since when code runs in the pod, at the earliest: since the kubelet has it, or its container ended last. It is zero if none does.
func (p Pod) RunsSince() (since time.Time) {
	for _, c := range p.own()[0] {
		if c.State.Running == nil {
			return time.Time{}
		}
		if last := c.LastTerminationState.Terminated; last != nil && last.FinishedAt.After(since) {
			since = last.FinishedAt.Time
		}
	}
	if t := p.Status.StartTime; t != nil && t.After(since) {
		since = t.Time
	}
	return since
}

// FailedUnasked reports whether the pod's code has failed, and not because the pod was told to stop. What ended after that was asked for has failed
// by itself only if it names a cause. A program takes some time to end after an exception. A launcher may even end by the signal, long after it has told
// how its process ended.
func (p Pod) FailedUnasked() bool {
	e := p.exit()
	if e == nil || !p.allTerminated() || disruptionTarget(p.Pod) != nil {
		return false
	}
	if e.endedByKillSignal() {
		r := p.Record()
		code := ptr.Deref(r.WorkerExitCode, 0)
		return r.Follows == "" && code > 0 && words.SignalOf(code) == "" && NamesCause(&r)
	}
	asked, deleting := askedToStop(p.Pod)
	if !deleting || !p.EndedAt().After(asked) {
		return true
	}
	r := p.Record() // to read last words takes time
	return r.Follows == "" && NamesCause(&r)
}

// filter selects those failures of which something is true, from all or from some.
func filter(list []v1beta1.ReplicaFailure, of []int, is func(*v1beta1.ReplicaFailure) bool) (out []int) {
	if of == nil {
		for i := range list {
			of = append(of, i)
		}
	}
	for _, i := range of {
		if is(&list[i]) {
			out = append(out, i)
		}
	}
	return out
}

// earliest are those of some failures that came at most so many seconds after the first of them.
func earliest(list []v1beta1.ReplicaFailure, of []int, within int64) []int {
	first := int64(math.MaxInt64 - 1)
	for _, i := range of {
		first = min(first, second(&list[i]))
	}
	return filter(list, of, func(f *v1beta1.ReplicaFailure) bool { return second(f) <= first+within })
}

// second is when a failure came; the end of time if that is not known.
func second(f *v1beta1.ReplicaFailure) int64 {
	if f.Time == nil {
		return math.MaxInt64 - 1
	}
	return f.Time.Unix()
}

// NamesCause reports whether a failure names a cause of its own: an exception, a signal, or an exit code that exceptions do not have.
func NamesCause(f *v1beta1.ReplicaFailure) bool {
	code := f.WorkerExitCode
	if code == nil {
		code = f.ExitCode
	}
	return f.Exception != "" || f.WorkerSignal != "" || code == nil || *code != 1
}
