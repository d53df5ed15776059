package status

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// Event is something to tell the user about the job.
type Event struct {
	// Warning is true for events of type Warning, false for Normal.
	Warning bool
	Reason  string
	Message string
	// Attempt is the attempt that begins with a replacement, or how often something had failed. It tells this event from earlier ones of its reason.
	Attempt int
	// Replica is the replica that is replaced, as in "worker-0"; "" if none is. Pod and UID are the name and UID of its pod. Node is the node of that pod,
	// or that of which the event tells; "" if there is none.
	Replica, Pod, Node string
	UID                types.UID
}

// NewEvent makes an event whose texts are short enough for the API.
func NewEvent(warning bool, reason, message string) Event {
	return Event{Warning: warning, Reason: text.Cut(reason, text.MaxReason), Message: text.Cut(message, text.Max)}
}

// events returns the events that the change of the status deserves. That the job has begun is no event if the same write says that it runs or has
// succeeded.
func (w *writer) events() []Event {
	var list []Event
	isNews := w.status.Phase != v1beta1.JobRunning && w.status.Phase != v1beta1.JobSucceeded
	if w.Job.Status.StartTime == nil && w.status.StartTime != nil && isNews {
		list = append(list, NewEvent(false, v1beta1.ReasonStarted, initializedMessage))
	}
	list = append(list, w.warnings()...)
	for i := range w.Restarts {
		list = append(list, w.Restarts[i].event())
	}
	list = append(list, w.firstEvents()...)
	list = append(list, w.avoidedEvents()...)
	list = append(list, w.changes()...)
	list = append(list, w.queueEvents()...)
	return append(list, w.conditionEvents()...)
}

// conditionEvents returns the events of conditions that have become true, or are now true for another reason.
func (w *writer) conditionEvents() []Event {
	var list []Event
	for _, c := range w.status.Conditions {
		before := Condition(w.Job.Status.Conditions, c.Type)
		isNew := before == nil || before.Status != c.Status || before.Reason != c.Reason
		if c.Status == metav1.ConditionTrue && isNew && w.deservesEvent(c.Type) {
			list = append(list, eventOf(c))
		}
		if c.Type == v1beta1.ConditionRunning && c.Status == metav1.ConditionTrue && isNew && w.MisplacedRanks != "" {
			list = append(list, NewEvent(true, v1beta1.ReasonRanksUnordered, w.MisplacedRanks))
		}
	}
	return list
}

func eventOf(c v1beta1.JobCondition) Event {
	switch c.Type {
	case v1beta1.ConditionRunning:
		return NewEvent(false, v1beta1.ReasonRunning, c.Message) // the condition has no reason
	case v1beta1.ConditionFailed, v1beta1.ConditionBlocked, v1beta1.ConditionReplicaFailure:
		return NewEvent(true, c.Reason, c.Message)
	default:
		return NewEvent(false, c.Reason, c.Message)
	}
}

// deservesEvent reports whether a condition that has become true is told by an event.
func (w *writer) deservesEvent(t v1beta1.JobConditionType) bool {
	switch t {
	case v1beta1.ConditionInitialized, v1beta1.ConditionSucceeded: // Completed tells it
		return false
	case v1beta1.ConditionReady, v1beta1.ConditionReconciling, v1beta1.ConditionStalled: // what they follow from tells it
		return false
	case v1beta1.ConditionReplicaFailure:
		return len(w.Restarts) == 0 // their events say it already
	case v1beta1.ConditionCompleted:
		return w.status.Phase == v1beta1.JobSucceeded
	default:
		return true
	}
}

// changes returns the events of what users have changed. The job goes on after a pause, its pods are made again, or it has another number of replicas.
func (w *writer) changes() []Event {
	if w.Job.Status.StartTime == nil {
		return nil
	}
	var list []Event
	if w.Verdict.Course == verdict.Run {
		list = w.changesOfRuns()
	}
	had, has := replicas(w.Job.Status.Aggregate), replicas(w.status.Aggregate)
	if !w.Verdict.IsOver() && w.Verdict.Course != verdict.None && had > 0 && had != has {
		list = append(list, NewEvent(false, v1beta1.ReasonScaled, fmt.Sprintf("The job has %d replicas now, and had %d.", has, had)))
	}
	return list
}

// changesOfRuns returns the changes that are told once the job runs.
func (w *writer) changesOfRuns() (list []Event) {
	before, after := Condition(w.Job.Status.Conditions, v1beta1.ConditionPaused), Condition(w.status.Conditions, v1beta1.ConditionPaused)
	if before != nil && before.Reason != after.Reason {
		list = append(list, NewEvent(false, v1beta1.ReasonResumed, "The job goes on after a pause."))
	}
	if w.Ledger.IsEdited() {
		list = append(list, NewEvent(false, v1beta1.ReasonEdited, editedMessage))
	}
	return list
}

// queueEvents tell what a job's queue does with it: has it wait, admits it, takes its quota away.
func (w *writer) queueEvents() []Event {
	before := Condition(w.Job.Status.Conditions, v1beta1.ConditionRunning)
	waited := before != nil && (before.Reason == v1beta1.ReasonQueued || before.Reason == v1beta1.ReasonEvicted)
	switch queue := w.status.Queue; {
	case w.Verdict.Course == verdict.Queue && (before == nil || before.Reason != w.Verdict.Reason):
		return []Event{NewEvent(false, w.Verdict.Reason, w.Verdict.Message)}
	case w.Verdict.Course == verdict.Run && waited && queue != nil:
		return []Event{NewEvent(false, v1beta1.ReasonAdmitted, fmt.Sprintf("The queue %s has admitted the job.", queue.QueueName))}
	default:
		return nil
	}
}

func replicas(a v1beta1.Aggregate) int32 {
	return a.Creating + a.Pending + a.Running + a.Succeeded + a.Failed + a.Unknown + a.Deleted
}
