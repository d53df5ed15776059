package controllers

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxNote is the length in bytes that the events API allows a note.
const maxNote = 1024

// maxReplaced is how many replicas that one pass replaces have an event each. One more tells of the others: a node that goes
// must not cost a thousand writes.
const maxReplaced = 10

// announce emits events about a job, and about the training job that it runs for, whose users look there. Phases it tells itself.
func (r *GenericJob) announce(job *v1beta1.GenericJob, list []kernel.Event) {
	list = bounded(list)
	emit(r.Recorder, job, list)
	owner := metav1.GetControllerOf(job)
	if owner == nil {
		return
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e kernel.Event) bool { return tellsPhase(&job.Status, e) })
	emit(r.Recorder, referenceTo(job.Namespace, owner), list)
}

// referenceTo is the owner, as events name it.
func referenceTo(namespace string, owner *metav1.OwnerReference) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: namespace, Name: owner.Name, UID: owner.UID}
}

// tellsPhase says whether an event tells of a new phase.
func tellsPhase(s *v1beta1.GenericJobStatus, e kernel.Event) bool {
	if c := status.Condition(s.Conditions, v1beta1.ConditionFailed); c != nil && c.Status == metav1.ConditionTrue && c.Reason == e.Reason {
		return true
	}
	return slices.Contains([]string{v1beta1.ReasonStarted, v1beta1.ReasonRunning, v1beta1.ReasonPaused, v1beta1.ReasonSucceeded}, e.Reason)
}

// bounded are the events, of which at most so many are of replicas that are replaced.
func bounded(list []kernel.Event) []kernel.Event {
	var out []kernel.Event
	replaced, more := 0, 0
	for _, e := range list {
		if e.Replica != "" {
			replaced++
		}
		if e.Replica != "" && replaced > maxReplaced {
			more++
			continue
		}
		out = append(out, e)
	}
	if more > 0 {
		out = append(out, kernel.Event{Warning: true, Reason: v1beta1.ReasonReplaced, Message: fmt.Sprintf(
			"%d more replicas were replaced; status.ledger and the operator's log have each.", more)})
	}
	return out
}

// emit emits events about an object. The pod of a replica keeps its event apart from others of the same reason, which would be
// counted as one.
func emit(recorder events.EventRecorder, about runtime.Object, list []kernel.Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		var related runtime.Object
		if e.Pod != "" {
			related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: e.Pod, UID: e.UID}
		}
		action := e.Reason
		if e.Attempt > 0 { // a recorder counts events alike by all but their note, and keeps the first note: each restart is another action
			action += strconv.Itoa(e.Attempt)
		}
		recorder.Eventf(about, related, kind, e.Reason, action, "%s", text.Cut(e.Message, maxNote))
	}
}
