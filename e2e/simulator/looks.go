package simulator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/podstate"
)

// Looks are, by each look of a pod, the looks that have followed it. A look is what the operator can see of a pod, without
// names, times, addresses, messages and the count of restarts.
type Looks map[string]map[string]bool

// firstLook is that of each pod of which nobody has said anything.
const firstLook = "Pending"

// lookOf is what a pod looks like, on one line. It begins with how its kubelet restarts it.
func lookOf(p *corev1.Pod) string {
	words := []string{onceOrInPlace(p) + ": " + phaseSeen(p)}
	add := func(is bool, format string, args ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(p.Status.Reason != "", "%s", p.Status.Reason)
	add(p.DeletionTimestamp != nil && !podstate.IsOver(p), "deleted") // what is over may be deleted at any time
	for _, c := range p.Status.Conditions {
		add(c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue, "disrupted by %s", c.Reason)
	}
	add(isReady(p), "ready")
	var others []string
	for _, s := range slices.Concat(p.Status.ContainerStatuses, p.Status.InitContainerStatuses) {
		switch state := stateOf(s); {
		case s.Name == p.Spec.Containers[0].Name:
			add(true, "code %s", state)
			if last := s.LastTerminationState.Terminated; last != nil {
				add(true, "after %s", codeOf(last))
			}
		case state != "ended with 0": // else it has done its work, as an init container has
			others = append(others, state)
		}
	}
	slices.Sort(others)
	add(len(others) > 0, "another %s", strings.Join(slices.Compact(others), " and "))
	return strings.Join(words, ", ")
}

// phaseSeen is the phase of a pod. Code that ends at once has its kubelet tell of the end while the phase is Pending still. The operator makes no
// difference between that and Running: see TestThePhaseMayComeAfterTheEnd of kernel/podstate.
func phaseSeen(p *corev1.Pod) string {
	if p.Status.Phase == corev1.PodPending && codeEnd(p) != nil {
		return string(corev1.PodRunning)
	}
	return cmp.Or(string(p.Status.Phase), firstLook)
}

func onceOrInPlace(p *corev1.Pod) string {
	if podstate.RestartsInPlace(p) {
		return "in place"
	}
	return "once"
}

func stateOf(s corev1.ContainerStatus) string {
	switch {
	case s.State.Running != nil:
		return "runs"
	case s.State.Terminated != nil:
		return endOf(s.State.Terminated)
	case s.State.Waiting != nil && s.State.Waiting.Reason == "CrashLoopBackOff":
		return "backs off"
	default: // whatever for: KUBELET.md has the reasons
		return "waits"
	}
}

// endOf says how a container has ended: the reason, too, where the exit code does not give it.
func endOf(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "" || t.Reason == "Error" || t.Reason == "Completed" {
		return "ended with " + codeOf(t)
	}
	return "ended with " + codeOf(t) + " by " + t.Reason
}

func codeOf(t *corev1.ContainerStateTerminated) string {
	if t.ExitCode == 0 {
		return "0"
	}
	return "another code"
}

// note notes that a pod looks like this now, which looked like last. It returns the look.
func (l Looks) note(p *corev1.Pod, last string) string {
	last, now := cmp.Or(last, onceOrInPlace(p)+": "+firstLook), lookOf(p)
	if now != last {
		l.add(last, now)
	}
	return now
}

// add notes that one look has followed another.
func (l Looks) add(from, to string) {
	if l[from] == nil {
		l[from] = map[string]bool{}
	}
	l[from][to] = true
}

// ofLife notes all that the pods of a life have looked like.
func (l Looks) ofLife(life *Life) {
	last := map[string]string{}
	for _, ch := range life.api.trails[kindPod] {
		if p, ok := ch.now.(*corev1.Pod); ok {
			last[string(p.UID)] = l.note(p, last[string(p.UID)])
		}
	}
}

// ofWatch notes what `kubectl get pods --watch --output-watch-events -o json` has written, and returns how many pods there were. The last
// event may be cut off.
func (l Looks) ofWatch(events io.Reader) (pods int, err error) {
	last := map[string]string{}
	for d := json.NewDecoder(events); ; {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		switch err := d.Decode(&event); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return len(last), nil
		case err != nil:
			return len(last), fmt.Errorf("read an event of a watch of pods: %w", err)
		}
		if p := &event.Object; p.UID != "" && len(p.Spec.Containers) > 0 && event.Type != "DELETED" {
			last[string(p.UID)] = l.note(p, last[string(p.UID)])
		}
	}
}

// reaches reports whether one look follows another in some number of steps: who watches may not see each.
func (l Looks) reaches(from, to string) bool {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		if at == to {
			return true
		}
		for follows := range l[at] {
			if !seen[follows] {
				seen[follows] = true
				next = append(next, follows)
			}
		}
	}
	return false
}
