package definitions

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// sayReady sets the conditions by which deployment tools judge a definition. They follow from Accepted and Serving.
func sayReady(f *v1beta1.TrainingFramework) {
	is, why := stand(f)
	sayStand(f, is, why.Reason, why.Message)
}

// sayNotYet says of a definition that has just been accepted that it does not serve yet.
func sayNotYet(f *v1beta1.TrainingFramework) {
	sayStand(f, v1beta1.FrameworkReconciling, v1beta1.ReasonAccepted, "The definition is accepted, and about to serve.")
}

// sayStand sets Ready, and Reconciling or Stalled beside it if that is how the definition stands.
func sayStand(f *v1beta1.TrainingFramework, is, reason, message string) {
	ready := metav1.ConditionFalse
	if is == v1beta1.FrameworkReady {
		ready = metav1.ConditionTrue
	}
	say(f, v1beta1.FrameworkReady, ready, reason, message)
	for _, other := range []string{v1beta1.FrameworkReconciling, v1beta1.FrameworkStalled} {
		if other == is {
			say(f, other, metav1.ConditionTrue, reason, message)
		} else {
			meta.RemoveStatusCondition(&f.Status.Conditions, other)
		}
	}
}

// onlyPeopleMend are the reasons of Accepted that do not pass: a definition has to be edited, or deleted.
var onlyPeopleMend = []string{v1beta1.ReasonInvalidDefinition, v1beta1.ReasonKindConflict}

// stand is which of the three conditions holds, and the condition that says why. Rights, CRDs and the ends of jobs are waited for.
func stand(f *v1beta1.TrainingFramework) (string, *metav1.Condition) {
	accepted := meta.FindStatusCondition(f.Status.Conditions, v1beta1.FrameworkAccepted)
	serving := meta.FindStatusCondition(f.Status.Conditions, v1beta1.FrameworkServing)
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
