package jobs

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// mostWarned is of how many events of a pod the warnings are read: a kubelet repeats itself, and Kubernetes counts that as one.
const mostWarned = 100

// ReadWarnings reads what Kubernetes warns of about the first pod that has a node and does not start there, where the pod's status
// says nothing: a volume is missing, for example. A user who may not read events has none.
func (f *Family) ReadWarnings(ctx context.Context, c client.Reader) error {
	i := slices.IndexFunc(f.Pods, isBeingMade)
	if i < 0 {
		return nil
	}
	events := &corev1.EventList{}
	of := client.MatchingFields{"involvedObject.uid": string(f.Pods[i].UID), "type": corev1.EventTypeWarning}
	err := c.List(ctx, events, client.InNamespace(f.Pods[i].Namespace), of, client.Limit(mostWarned))
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	f.Warnings = events.Items
	slices.SortStableFunc(f.Warnings, func(a, b corev1.Event) int { return cmp.Compare(a.LastTimestamp.Unix(), b.LastTimestamp.Unix()) })
	return nil
}

// Warning is a pod of which only an event tells why it does not start, and the last such event; nil without one.
func (f *Family) Warning() (*corev1.Pod, *corev1.Event) {
	for _, pod := range f.Pods {
		for i := range slices.Backward(f.Warnings) {
			if e := &f.Warnings[i]; e.InvolvedObject.UID == pod.UID && pod.Status.Phase == corev1.PodPending {
				return pod, e
			}
		}
	}
	return nil, nil
}

// isBeingMade reports whether a pod has a node on which none of its containers has a reason not to run.
func isBeingMade(pod *corev1.Pod) bool {
	if pod.Status.Phase != corev1.PodPending || pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
		return false
	}
	return !slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c corev1.ContainerStatus) bool {
		w := c.State.Waiting
		return w == nil || w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" && w.Reason != ""
	})
}
