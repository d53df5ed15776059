package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// creator creates objects for one owner.
type creator struct {
	Client client.Client
	Live   client.Reader
	owner  client.Object
}

// create creates an object that the owner controls. What says in errors what was tried.
func (c creator) create(ctx context.Context, what string, o client.Object) error {
	err := c.Client.Create(ctx, o)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		_, err := c.existing(ctx, what, o)
		return err
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil // the job goes with its namespace: there is nobody left to tell
	case apierrors.IsInvalid(err):
		return refuse(v1beta1.ReasonCreateInvalid, err.Error())
	case tooLarge(err):
		return refuse(v1beta1.ReasonCreateInvalid, tooLargeMessage(kindOf(o)+" "+o.GetName(), err))
	case apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return refuse(v1beta1.ReasonCreateFailed, err.Error())
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// tooLarge says whether the apiserver, or the etcd behind it, refuses a request for its size. That does not go away by
// itself, though etcd's refusals come as internal errors.
func tooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	if !apierrors.IsInternalError(err) && apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return false
	}
	return err != nil && (strings.Contains(err.Error(), "request is too large") || strings.Contains(err.Error(), "message larger than max"))
}

func tooLargeMessage(what string, err error) string {
	return fmt.Sprintf("%s is larger than the cluster stores, about 1.5 MB (%v): make the template smaller, by a ConfigMap or an image that holds the data", what, err)
}

// existing looks, live, at the object that is in the way of a create. If the owner controls it, the cache has just not
// shown it yet: it is present, or terminating and its delete event leads to the next pass. Anybody else's is left alone,
// and the job fails closed.
func (c creator) existing(ctx context.Context, what string, o client.Object) (client.Object, error) {
	have := o.DeepCopyObject().(client.Object)
	err := c.Live.Get(ctx, client.ObjectKeyFromObject(o), have)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: it existed a moment ago and is gone now: trying again", what)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: look at what exists already: %w", what, err)
	}
	message := fmt.Sprintf("%s %s/%s exists already", kindOf(o), o.GetNamespace(), o.GetName())
	switch uid := o.GetLabels()[v1beta1.LabelJobUID]; {
	case !metav1.IsControlledBy(have, c.owner):
		return nil, refuse(v1beta1.ReasonNameConflict, message)
	case have.GetLabels()[v1beta1.LabelJobUID] != uid:
		message += ", made for this job, but somebody has taken its label " + v1beta1.LabelJobUID + " away"
		return nil, refuse(v1beta1.ReasonNameConflict, message)
	default:
		return have, nil
	}
}

func kindOf(o client.Object) string {
	switch o.(type) {
	case *corev1.Pod:
		return "Pod"
	case *corev1.Service:
		return "Service"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *v1beta1.GenericJob:
		return v1beta1.KindGenericJob
	default:
		return o.GetObjectKind().GroupVersionKind().Kind
	}
}

// updateService brings the ports of the job's Service up to date.
func (d *doer) updateService(ctx context.Context, a kernel.Action) error {
	raw, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": a.Service.UID}, "spec": map[string]any{"ports": a.Service.Spec.Ports},
	})
	if err != nil {
		return err
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: a.Service.Namespace, Name: a.Service.Name}}
	err = d.unlessOutdated(d.Client.Patch(ctx, service, client.RawPatch(types.MergePatchType, raw)))
	if apierrors.IsInvalid(err) || tooLarge(err) {
		return refuse(v1beta1.ReasonCreateInvalid, err.Error())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	return nil
}

// applyObject creates an object of the gang scheduler's, or brings the spec of the job's own up to date.
func (d *doer) applyObject(ctx context.Context, a kernel.Action) error {
	err := d.Client.Create(ctx, a.Object.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return d.refusedOr(a, err)
	}
	have, err := d.existing(ctx, a.String(), a.Object)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": have.GetUID()}, "spec": a.Object.Object["spec"]})
	if err != nil {
		return err
	}
	return d.refusedOr(a, d.Client.Patch(ctx, have, client.RawPatch(types.MergePatchType, raw)))
}

// refusedOr turns what the apiserver says of a gang scheduler's object into a refusal where the user must hear of it.
func (d *doer) refusedOr(a kernel.Action, err error) error {
	switch {
	case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), tooLarge(err):
		return refuse(v1beta1.ReasonCreateFailed, err.Error())
	default:
		return fmt.Errorf("%s: %w", a, err)
	}
}
