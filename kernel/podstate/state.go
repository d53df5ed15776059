// Package podstate says what the status of one pod means for its replica. The replica may yet run, has done its work, has failed, or was ended from
// outside. The package also says why, in words. It knows a few facts about the replica (see Replica), and neither jobs nor ledgers nor statuses. Trim
// removes from a pod what nothing here reads.
//
// Nothing here has a memory: the same pod at the same time always means the same. In doubt, work counts as finished, and a failure as one that a limit
// counts.
//
// Begin with Judge.Of.
package podstate

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// State is what the status of a pod means for its replica.
type State int

// The states.
const (
	Alive         State = iota // the pod runs or may yet run; or its containers have ended, and its phase has yet to say how the pod ended
	Terminating                // the pod is being deleted and has not ended yet: wait
	Superseded                 // the pod does not matter any more
	Succeeded                  // the replica's code has finished its work
	Failed                     // the replica's code has failed
	Disrupted                  // something outside the job ended the pod
	Lost                       // the pod is being deleted and nobody will report how it ended
	Unwanted                   // the pod lives, and the operator stops it: after a change of run mode, an edit or a replacement
	Behind                     // the pod lives, and its code is or may be of an earlier attempt: it waits for an order, or at the barrier
	FailedInPod                // the replica's code has failed, and can be run again in the pod
	Stranded                   // the pod's container has ended, and its node does not start it again
	AwaitingPhase              // the operator would stop the pod, but its code has exited with 0: wait for the phase, which tells if it succeeded
)

// GoesOn reports whether the pod stays in use, whether or not its code runs at the moment.
func (s State) GoesOn() bool { return s == Alive || s == Behind || s == FailedInPod }

// Pod is a pod with the template of its replica. Only the template's containers count: what admission adds to a pod (proxies, agents) neither decides
// nor delays an outcome.
type Pod struct {
	*corev1.Pod
	// Template is the replica's.
	Template *corev1.PodTemplateSpec
}

// Numbers are the numbers in a pod's labels that say what it was made for, and its last order.
type Numbers struct {
	Attempt, ModeGeneration int
	// JobAttempt is the job attempt. Only pods that restart in place have it.
	JobAttempt int
	// Order is the last order of a pod that restarts in place; nil for other pods.
	Order *inplace.Order
}

// NumbersOf reads the numbers of a pod. A number that the pod does not have is -1.
func NumbersOf(pod *corev1.Pod) Numbers {
	numbers := Numbers{Number(pod, v1beta1.LabelAttempt), Number(pod, v1beta1.LabelModeGeneration), -1, nil}
	if text, ok := pod.Annotations[inplace.Annotation]; ok {
		if o, err := inplace.Parse(text); err == nil {
			numbers.JobAttempt, numbers.Order = Number(pod, v1beta1.LabelJobAttempt), &o
		}
	}
	return numbers
}

// IsOfEarlierBuild reports whether an earlier build of the operator made the pod with these numbers. Labels and orders had other names then.
func (n Numbers) IsOfEarlierBuild(pod *corev1.Pod) bool {
	if n.ModeGeneration >= 0 {
		return false
	}
	_, ok := pod.Labels[v1beta1.LabelOfEarlierBuilds]
	return ok
}

// CodeAttempt returns the attempt that the pod was last told of: by its order, or else by its labels.
func (n Numbers) CodeAttempt() int {
	if n.Order != nil {
		return n.Order.Attempt
	}
	return n.Attempt
}

// WasStartedOver reports whether an order has moved the pod to a later attempt than it was made for.
func (n Numbers) WasStartedOver() bool { return n.Order != nil && n.CodeAttempt() > n.Attempt }

// IsBehind reports whether the pod's code is, or may be, of an earlier attempt than the present one.
func (n Numbers) IsBehind(attempt int, barrierIsOpen bool) bool {
	return n.CodeAttempt() < attempt || !barrierIsOpen && n.Attempt < attempt
}

// Number reads a non-negative number from a label; -1 if there is none.
func Number(pod metav1.Object, label string) int {
	n, err := strconv.Atoi(pod.GetLabels()[label])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// Replica is what must be known of an unfinished replica to say what its pod means.
type Replica struct {
	// Attempt and ModeGeneration are the present ones, by the ledger. A pod of an earlier mode generation is stopped. One of an earlier
	// attempt is behind or obsolete.
	Attempt, ModeGeneration int
	// Obsolete says that the pod is to be replaced, whatever becomes of it.
	Obsolete bool
	// InPlace says that the job restarts in place. In such a job a replica that has finished takes part in no later attempt, in whichever pod.
	InPlace bool
	// Exits is how many ends of the container have been counted. Further ones are news.
	Exits int
	// BarrierIsOpen says that replicas do not wait for each other. While they do, an end belongs to an attempt that is over.
	BarrierIsOpen bool
	// RunsAgain says that the replica is run again even if it succeeds. Always says that this is its policy, though its limit may not allow it.
	RunsAgain, Always bool
}

// Judge says what pods mean at a time.
type Judge struct {
	Now time.Time
	// ForceReplaceAfter is how long a pod may stay Terminating beyond its grace period. After that it counts as lost with its node. 0 means for ever,
	// whatever is known of the node.
	ForceReplaceAfter time.Duration
	// Nodes are the nodes that were read live, by name: those for whose pods DependsOnNode is true.
	Nodes map[string]Node
}

// Of says what the pod of a replica that has not finished means. The numbers are the pod's own: see NumbersOf.
func (j Judge) Of(pod Pod, numbers *Numbers, r Replica) State {
	isToStop := IsToStop(pod.Pod, numbers, r.ModeGeneration)
	switch {
	case r.Obsolete && r.InPlace:
		return j.ofObsolete(pod, r)
	case r.Obsolete:
		return Superseded // the ledger has moved past it
	case numbers.IsBehind(r.Attempt, r.BarrierIsOpen):
		return j.ofBehind(pod, numbers, isToStop, r)
	case !isToStop && pod.Exits() > r.Exits && !j.mayHaveWorked(pod, isToStop, r.RunsAgain):
		return FailedInPod // Behind comes before it: an end in a pod that is behind is not of the present attempt
	case j.hasEnded(pod):
		return j.ofEnded(pod, isToStop, r.RunsAgain)
	case !isToStop && j.IsStranded(pod):
		return Stranded
	default:
		return j.ofLiving(pod.Pod, isToStop)
	}
}

// IsToStop reports whether a pod was made for an earlier mode generation than the present one, or has been told to stop.
func IsToStop(pod *corev1.Pod, numbers *Numbers, modeGeneration int) bool {
	return numbers.ModeGeneration < modeGeneration || HasMark(pod, v1beta1.AnnotationStopped)
}

// hasEnded reports whether a pod has ended, as far as anybody will ever know. A lost pod has if its main container had: what is reported of that
// decides.
func (j Judge) hasEnded(p Pod) bool { return p.HasEnded() || p.mainHasEnded() && j.isLost(p.Pod) }

// mayHaveWorked reports whether the pod has ended, and its replica has done its work, or has done it unless the phase will say otherwise.
func (j Judge) mayHaveWorked(p Pod, isToStop, runsAgain bool) bool {
	return j.hasEnded(p) && slices.Contains([]State{Succeeded, Alive, AwaitingPhase}, j.ofEnded(p, isToStop, runsAgain))
}

// ofEnded says what a pod that has ended means. It is Alive or AwaitingPhase if its phase has yet to say whether it succeeded.
func (j Judge) ofEnded(p Pod, isToStop, runsAgain bool) State {
	debug := IsDebug(p.Pod)
	switch {
	case !debug && p.hasSucceeded() && p.endedByItself():
		return j.ofSuccess(p, isToStop, runsAgain)
	case isToStop:
		// Whatever fails while the job is being stopped for a pause or a change of mode fails because of that.
		return Superseded
	case debug || p.isDisruption():
		return Disrupted
	default:
		return Failed
	}
}

// ofSuccess says what a pod means whose code has exited with 0, and by itself as far as is known.
func (j Judge) ofSuccess(p Pod, isToStop, runsAgain bool) State {
	switch awaits := p.awaitsPhase() && !j.isLost(p.Pod); {
	case isToStop && runsAgain:
		return Superseded // it will run again in the new mode
	case awaits && isToStop:
		return AwaitingPhase
	case awaits:
		return Alive
	default:
		return Succeeded
	}
}

// ofLiving says what a pod means that has not ended.
func (j Judge) ofLiving(pod *corev1.Pod, isToStop bool) State {
	switch {
	case j.isLost(pod) && isToStop:
		return Superseded
	case j.isLost(pod):
		return Lost
	case pod.DeletionTimestamp != nil:
		return Terminating
	case isToStop:
		return Unwanted
	default:
		return Alive
	}
}

// IsDebug reports whether the pod runs the null command of debug mode: its end says nothing about the job.
func IsDebug(pod *corev1.Pod) bool { return pod.Labels[v1beta1.LabelDebug] == "true" }

// HasFinalizer reports whether a pod carries our finalizer.
func HasFinalizer(pod *corev1.Pod) bool {
	return slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking)
}

// HasMark reports whether the pod has a mark: AnnotationStopped if the operator stops it, AnnotationDisrupted if somebody else deletes it. Only a pod
// that is not known to have finished gets a mark.
func HasMark(pod *corev1.Pod, mark string) bool {
	_, ok := pod.Annotations[mark]
	return ok
}

// killDelay is how long after its deletionTimestamp, which includes the grace period, a pod's code may still run on a node that answers. Its kubelet
// hears of the deletion some time later, and allows two seconds more after a preStop hook.
const killDelay = 5 * time.Second

// Clears reports whether no code can run any more in a pod that is not wanted. If code still can, after is how long until it cannot; 0 if the pod is
// still to be deleted.
func (j Judge) Clears(p Pod) (clears bool, after time.Duration) {
	switch {
	case p.HasEnded():
		return true, 0
	case p.DeletionTimestamp == nil:
		return false, 0
	default:
		after = max(0, p.DeletionTimestamp.Add(killDelay).Sub(j.Now))
		return after == 0, after
	}
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}
