// Package ending says what the state of one pod means for its replica: whether it may yet run, has done its work, has
// failed, or was ended from outside; and, in words, why. It is told a few plain facts about the replica, and knows neither
// jobs nor ledgers nor statuses. Trim is the other side of it: a pod without what nobody here reads.
//
// Nothing here remembers anything: the same pod at the same time means the same. The benefit of the doubt falls on the side
// of finished work, and of failures that are counted.
//
// Begin with Judge.Of.
package ending

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Ending is what the state of a pod means for its replica.
type Ending int

// The endings.
const (
	Alive     Ending = iota // the pod is there and may yet run
	Leaving                 // the pod is being deleted and has not ended yet: wait
	Garbage                 // the pod does not matter any more
	Succeeded               // the replica's code has finished its work
	Failed                  // the replica's code has failed
	Disrupted               // something outside the job ended the pod
	Lost                    // the pod is being deleted and will not tell how it ended
	Unwanted                // the pod was made for another run mode and still lives: stop it
)

// Marks are the numbers in a pod's labels that say what it was made for.
type Marks struct{ Attempt, Epoch int }

// MarksOf reads them; each is -1 if the pod has none.
func MarksOf(pod *corev1.Pod) Marks {
	return Marks{Number(pod, v1beta1.LabelAttempt), Number(pod, v1beta1.LabelModeEpoch)}
}

// Number reads a non-negative number from a label; -1 if there is none.
func Number(pod *corev1.Pod, label string) int {
	n, err := strconv.Atoi(pod.Labels[label])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Replica is what must be known of a replica that has not finished, to tell what its pod means.
type Replica struct {
	// Attempt and Epoch are those that the ledger is in now. Pods of lower ones are old.
	Attempt, Epoch int
	// Again says that the replica is run again after a success, too.
	Again bool
}

// Judge tells what pods mean at a time.
type Judge struct {
	Now time.Time
	// ForceReplaceAfter is how long a pod may stay Terminating beyond its grace period before it is taken for lost with its
	// node; 0 means for ever.
	ForceReplaceAfter time.Duration
}

// Of says what the pod of a replica that has not finished means. The marks are the pod's own: see MarksOf.
func (j Judge) Of(pod *corev1.Pod, m Marks, r Replica) Ending {
	old := m.Epoch < r.Epoch || Marked(pod, v1beta1.AnnotationStopped)
	switch {
	case m.Attempt < r.Attempt:
		return Garbage // the ledger has moved past it
	case Ended(pod):
		return ofEnded(pod, old, r.Again)
	default:
		return j.ofLiving(pod, old)
	}
}

func ofEnded(pod *corev1.Pod, old, again bool) Ending {
	debug := IsDebug(pod)
	switch {
	case !debug && pod.Status.Phase == corev1.PodSucceeded && endedByItself(pod):
		if old && again {
			return Garbage // it will run again in the new mode
		}
		return Succeeded
	case old:
		// Whatever fails while the job is being stopped for a pause or a change of mode fails because of that.
		return Garbage
	case debug || isDisruption(pod):
		return Disrupted
	default:
		return Failed
	}
}

func (j Judge) ofLiving(pod *corev1.Pod, old bool) Ending {
	switch {
	case j.isLost(pod) && old:
		return Garbage
	case j.isLost(pod):
		return Lost
	case pod.DeletionTimestamp != nil:
		return Leaving
	case old:
		return Unwanted
	default:
		return Alive
	}
}

// IsDebug says whether the pod runs the null command of debug mode: its end says nothing about the job.
func IsDebug(pod *corev1.Pod) bool { return pod.Labels[v1beta1.LabelDebug] == "true" }

// Tracked says whether a pod carries our finalizer.
func Tracked(pod *corev1.Pod) bool { return slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking) }

// Marked says whether the operator has put a mark on the pod: that it was not known to have finished when the operator
// stopped it (AnnotationStopped), or when the operator saw that somebody else was deleting it (AnnotationDisrupted).
func Marked(pod *corev1.Pod, mark string) bool {
	_, is := pod.Annotations[mark]
	return is
}

// Ended says whether no container of the pod runs any more, or ever will.
func Ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// isLost says whether a pod that is being deleted will not tell how it ended: nobody waits for its node, or its node does
// not answer. Without our finalizer a pod with no grace period left would be gone already: it never had a node, or
// somebody deleted it by force.
func (j Judge) isLost(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp == nil {
		return false
	}
	g := pod.DeletionGracePeriodSeconds
	return j.Overdue(pod) || g != nil && *g == 0
}

// Overdue says whether a pod is Terminating for so long that its node must be dead.
func (j Judge) Overdue(pod *corev1.Pod) bool {
	return j.ForceReplaceAfter > 0 && pod.DeletionTimestamp != nil && j.UntilOverdue(pod) == 0
}

// UntilOverdue is how long until a pod that is Terminating will be overdue; 0 if it is, or never will be.
func (j Judge) UntilOverdue(pod *corev1.Pod) time.Duration {
	if j.ForceReplaceAfter <= 0 {
		return 0
	}
	return max(0, pod.DeletionTimestamp.Add(j.ForceReplaceAfter).Sub(j.Now))
}

// Lived is for how long the kubelet has had the pod; 0 if it never had.
func (j Judge) Lived(pod *corev1.Pod) time.Duration {
	if pod.Status.StartTime == nil {
		return 0
	}
	return j.Now.Sub(pod.Status.StartTime.Time)
}
