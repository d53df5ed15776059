package calls

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// RefusalError is an error that the user must hear of: the apiserver will go on refusing until something changes.
type RefusalError struct{ kernel.Refusal }

func (e *RefusalError) Error() string { return e.Reason + ": " + e.Message }

// Refuse returns a *RefusalError with the reason and message of a condition.
func Refuse(reason, message string) error {
	return &RefusalError{kernel.Refusal{Reason: reason, Message: message}}
}

// Explain turns the error of a create or an update into a *RefusalError if the user must hear of it. Else it says what was tried.
func Explain(what string, err error) error {
	switch {
	case Invalid(err), TooLarge(err):
		return Refuse(v1beta1.ReasonCreateInvalid, err.Error())
	case isLasting(err):
		return Refuse(v1beta1.ReasonCreateFailed, err.Error())
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// Invalid reports whether the apiserver calls a field of the object invalid. A ValidatingAdmissionPolicy's denial has the same code and
// reason by default, but its causes name no field. Such a denial is a matter of the cluster's, and may pass.
func Invalid(err error) bool {
	return apierrors.IsInvalid(err) && causedBy(err, func(field string) bool { return field != "" })
}

// isLasting reports whether the apiserver will repeat this answer until something changes. Other errors may pass by themselves.
func isLasting(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || TooLarge(err)
}

// TooLarge reports whether the apiserver, or the etcd behind it, refuses a request for its size. Such a refusal does not go away by itself, though
// etcd's refusals come as internal errors.
func TooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	if !apierrors.IsInternalError(err) && apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return false
	}
	return err != nil && (strings.Contains(err.Error(), "request is too large") || strings.Contains(err.Error(), "message larger than max"))
}

// Outdated reports whether a write failed because the object is no longer what was planned from.
func Outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// NamespaceEnds reports whether something was not created because its namespace is being deleted, or is gone. What it is for goes
// with that namespace, and there is nobody left to tell.
func NamespaceEnds(err error) bool {
	var answer apierrors.APIStatus
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) || apierrors.IsNotFound(err) &&
		errors.As(err, &answer) && answer.Status().Details != nil && answer.Status().Details.Kind == "namespaces"
}

// isAnother reports whether a patch was refused because it carries the UID of another object. The apiserver calls that an
// invalid change of the UID, not a conflict.
func isAnother(err error) bool {
	return causedBy(err, func(field string) bool { return field == "metadata.uid" })
}

// causedBy reports whether some cause of an apiserver's answer names such a field.
func causedBy(err error, names func(field string) bool) bool {
	var refused apierrors.APIStatus
	if !errors.As(err, &refused) || refused.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(refused.Status().Details.Causes, func(c metav1.StatusCause) bool { return names(c.Field) })
}
