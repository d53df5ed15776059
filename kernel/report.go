package kernel

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
)

// Refusal is an action that the apiserver refused.
type Refusal struct {
	Action Action
	// Reason is one of ReasonNameConflict, ReasonCreateFailed and ReasonCreateInvalid.
	Reason string
	// Message is what the apiserver said.
	Message string
}

// Report is the decision to tell of a refusal, which came while d was carried out, in the status. That is all that it
// changes, but for a first status that was postponed: a refusal is told at once, and with all that a status says. The
// condition goes once nothing is left to create.
func Report(job *v1beta1.GenericJob, d Decision, r Refusal, now metav1.Time) Decision {
	s, events := *job.Status.DeepCopy(), []status.Event(nil)
	if d.Postponed != nil {
		s, events = *d.Postponed.Status.DeepCopy(), d.Postponed.Events
	}
	message := r.Message
	switch r.Reason {
	case v1beta1.ReasonNameConflict:
		message += ": it is left alone, as it may be somebody else's. Delete it, and the job goes on by itself; or give the job another name."
	case v1beta1.ReasonCreateFailed:
		message += ": the operator keeps trying. Free what is short, or pause or delete the job."
	case v1beta1.ReasonCreateInvalid:
		message = fmt.Sprintf("The apiserver refuses what the spec asks for (%s): %s. Correct the field in spec and create the job again.", r.Action, message)
	}
	old := status.Condition(job.Status.Conditions, v1beta1.ConditionBlocked)
	if old != nil && old.Status == metav1.ConditionTrue && old.Reason == r.Reason {
		return Decision{Status: s} // told already; the message may differ in which pod, which is not worth a write
	}
	status.Set(&s, now.Time, v1beta1.ConditionBlocked, true, r.Reason, message)
	return Decision{Status: s, Events: append(events, status.NewEvent(true, r.Reason, message))}
}
