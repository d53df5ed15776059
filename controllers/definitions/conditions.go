package definitions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
)

// setReady sets the conditions by which deployment tools know the state of a definition. They follow from Accepted and Serving.
func setReady(d *v1beta1.TrainingFramework) {
	condition, why := standing(d)
	setStanding(d, condition, why.Reason, why.Message)
}

// setReconciling shows that a definition has just been accepted, and does not serve yet.
func setReconciling(d *v1beta1.TrainingFramework) {
	setStanding(d, v1beta1.FrameworkReconciling, v1beta1.ReasonAccepted, "The definition is accepted, and about to serve.")
}

// setStanding sets Ready, and Reconciling or Stalled beside it if that is how the definition stands.
func setStanding(d *v1beta1.TrainingFramework, condition, reason, message string) {
	ready := metav1.ConditionFalse
	if condition == v1beta1.FrameworkReady {
		ready = metav1.ConditionTrue
	}
	setCondition(d, v1beta1.FrameworkReady, ready, reason, message)
	for _, other := range []string{v1beta1.FrameworkReconciling, v1beta1.FrameworkStalled} {
		if other == condition {
			setCondition(d, other, metav1.ConditionTrue, reason, message)
		} else {
			meta.RemoveStatusCondition(&d.Status.Conditions, other)
		}
	}
}

// onlyPeopleMend are the reasons of Accepted that do not pass: a definition has to be edited, or deleted.
var onlyPeopleMend = []string{v1beta1.ReasonInvalidDefinition, v1beta1.ReasonKindConflict}

// standing returns which of the three conditions holds, and the condition that says why. Rights, CRDs and the ends of jobs are waited for.
func standing(d *v1beta1.TrainingFramework) (string, *metav1.Condition) {
	accepted := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkAccepted)
	serving := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkServing)
	switch {
	case accepted.Status == metav1.ConditionFalse && slices.Contains(onlyPeopleMend, accepted.Reason):
		return v1beta1.FrameworkStalled, accepted
	case accepted.Status != metav1.ConditionTrue:
		return v1beta1.FrameworkReconciling, accepted
	case serving.Status != metav1.ConditionTrue:
		return v1beta1.FrameworkReconciling, serving
	default:
		return v1beta1.FrameworkReady, serving
	}
}

// hasReason reports whether a condition has a reason.
func hasReason(d *v1beta1.TrainingFramework, condition, reason string) bool {
	have := meta.FindStatusCondition(d.Status.Conditions, condition)
	return have != nil && have.Reason == reason
}

// setCondition sets a condition.
func setCondition(d *v1beta1.TrainingFramework, condition string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&d.Status.Conditions, metav1.Condition{
		Type: condition, Status: status, Reason: reason, Message: text.Cut(message, text.Max), ObservedGeneration: d.Generation,
	})
}
