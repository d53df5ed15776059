package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// mostWarned is of how many events of a pod the warnings are read: a kubelet repeats itself, and Kubernetes counts that as one.
const mostWarned = 100

// failedMount is the reason of a kubelet's event about a pod whose volume is missing.
const failedMount = "FailedMount"

// ReadWarnings reads what Kubernetes warns of about the first pod that has a node and does not start there. The pod's status says nothing
// then: a volume is missing, for example. A user who may not read events has none.
func (f *Family) ReadWarnings(ctx context.Context, c client.Reader) (err error) {
	if job := f.GenericJob; job != nil && job.Spec.AvoidNodes == nil && len(job.Status.NodeFailures) > 0 {
		f.NotAvoided, err = warnedOf(ctx, c, job, client.MatchingFields{"reason": v1beta1.ReasonNodeNotAvoided})
	}
	if i := slices.IndexFunc(f.Pods, isBeingMade); i >= 0 && err == nil {
		f.Warnings, err = warnedOf(ctx, c, f.Pods[i], client.MatchingFields{})
	}
	return err
}

// warnedOf returns what is warned of about an object, the oldest first.
func warnedOf(ctx context.Context, c client.Reader, o client.Object, of client.MatchingFields) ([]corev1.Event, error) {
	of["involvedObject.uid"], of["type"] = string(o.GetUID()), corev1.EventTypeWarning
	events := &corev1.EventList{}
	if err := c.List(ctx, events, client.InNamespace(o.GetNamespace()), of, client.Limit(mostWarned)); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return cmp.Compare(a.LastTimestamp.Unix(), b.LastTimestamp.Unix()) })
	return events.Items, nil
}

// ReadWarnings reads warnings for the jobs of a namespace, or of all if that is "". They are about a volume of the first pod that has a node
// and does not start there. That is one list, and one pod of each job that it names. A user who may not read them is not told.
func ReadWarnings(ctx context.Context, c client.Reader, namespace string, families []*Family) error {
	waiting := map[client.ObjectKey]*Family{}
	for _, f := range families {
		if name := f.firstPending(); name != "" {
			waiting[client.ObjectKey{Namespace: f.Job.GetNamespace(), Name: name}] = f
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	events := &corev1.EventList{}
	err := c.List(ctx, events, client.InNamespace(namespace), client.MatchingFields{"reason": failedMount, "type": corev1.EventTypeWarning})
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("list events: %w", err)
	}
	for _, e := range events.Items {
		key := client.ObjectKey{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
		f := waiting[key]
		if f == nil {
			continue
		}
		if f.Pods == nil {
			pod := &corev1.Pod{}
			if c.Get(ctx, key, pod) != nil { // it is gone, or not for this user
				continue
			}
			f.Pods = append(f.Pods, pod)
		}
		f.Warnings = append(f.Warnings, e)
	}
	return nil
}

// firstPending returns the name of the first pod that has a node and does not run, as the status shows it. It returns "" if there is none, or if the
// job runs or is over.
func (f *Family) firstPending() string {
	if f.IsOver() || f.Is(v1beta1.ConditionRunning) {
		return ""
	}
	for _, t := range f.Status().Tasks {
		for _, r := range t.Replicas {
			if r.Phase == v1beta1.ReplicaPending {
				return r.Name
			}
		}
	}
	return ""
}

// Warning returns a pod of which only an event tells why it does not start, and the last such event; nil without one.
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
