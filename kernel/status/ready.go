package status

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Deployment tools know the state of all kinds by three conditions, Ready, Reconciling and Stalled: see deploy/gitops/README.md. Here they follow from what else a
// status says, so they cause no write of their own.

// startedMessage is what Ready says of a job that has started. It does not change while replicas are replaced.
const startedMessage = "All replicas have run together. The condition Running says how they are now."

// onlyEditsMend are the reasons of Blocked that time does not mend, nor anything in the cluster: the job has to be edited, or created again.
var onlyEditsMend = []string{v1beta1.ReasonInvalidSpec, v1beta1.ReasonScaleRefused, v1beta1.ReasonCreateInvalid, v1beta1.ReasonLedgerUnreadable, v1beta1.ReasonRevisionUnknown}

// Stalls reports whether a job that is blocked for a reason has to be edited, or created again.
func Stalls(reason string) bool { return slices.Contains(onlyEditsMend, reason) }

// SetReady sets Ready by what else the status says, and Reconciling or Stalled beside it if it is False.
func SetReady(s *v1beta1.GenericJobStatus, now time.Time) {
	which, why := readiness(s)
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1beta1.JobCondition) bool {
		return isDerived(c) && c.Type != which && c.Type != v1beta1.ConditionReady
	})
	Set(s, now, v1beta1.ConditionReady, which == v1beta1.ConditionReady, why.Reason, why.Message)
	Set(s, now, which, true, why.Reason, why.Message)
}

// readiness returns which of the three conditions is True, and a condition whose reason and message say why.
func readiness(s *v1beta1.GenericJobStatus) (v1beta1.JobConditionType, v1beta1.JobCondition) {
	blocked, running := wordsOf(s, v1beta1.ConditionBlocked), wordsOf(s, v1beta1.ConditionRunning)
	switch {
	case s.Phase == v1beta1.JobFailed:
		return v1beta1.ConditionStalled, wordsOf(s, v1beta1.ConditionFailed)
	case s.Phase == v1beta1.JobSucceeded:
		return v1beta1.ConditionReady, wordsOf(s, v1beta1.ConditionSucceeded)
	case blocked.Status == metav1.ConditionTrue && Stalls(blocked.Reason):
		return v1beta1.ConditionStalled, blocked
	case blocked.Status == metav1.ConditionTrue:
		return v1beta1.ConditionReconciling, blocked
	case s.Phase == v1beta1.JobPaused:
		return v1beta1.ConditionReady, wordsOf(s, v1beta1.ConditionPaused)
	case s.Phase == v1beta1.JobRunning && (running.Status == metav1.ConditionTrue || running.Reason == v1beta1.ReasonPodsNotReady):
		return v1beta1.ConditionReady, v1beta1.JobCondition{Reason: v1beta1.ReasonStarted, Message: startedMessage}
	default: // it has not started yet, or is being stopped
		return v1beta1.ConditionReconciling, running
	}
}

// wordsOf returns the condition of a type, or one that says the phase if there is none.
func wordsOf(s *v1beta1.GenericJobStatus, t v1beta1.JobConditionType) v1beta1.JobCondition {
	if c := Condition(s.Conditions, t); c != nil {
		return *c
	}
	return v1beta1.JobCondition{Reason: v1beta1.ReasonNone, Message: "The job is " + string(s.Phase) + "."}
}

// hasReady reports whether Ready may change without other news. It may not in a status of an operator that knew no Ready: such a status gets Ready
// when something else is news. Else an upgrade of the operator would write the status of every job.
func hasReady(s *v1beta1.GenericJobStatus) bool {
	return s.Phase == "" || Condition(s.Conditions, v1beta1.ConditionReady) != nil
}
