package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// failedMount is the reason of a kubelet's event about a pod whose volume is missing.
const failedMount = "FailedMount"

// ReadWarnings reads what Kubernetes warns of about the first pod that has a node and does not start there. The pod's status says nothing
// then: a volume is missing, for example. A user who may not read events has none.
func (f *Family) ReadWarnings(ctx context.Context, c client.Reader) (err error) {
	namespace := f.Job.GetNamespace()
	if job := f.GenericJob; job != nil && job.Spec.AvoidNodes == nil && len(job.Status.NodeFailures) > 0 {
		f.NotAvoided, err = warnedOf(ctx, c, namespace, f.EventUIDs(), client.MatchingFields{"reason": v1beta1.ReasonNodeNotAvoided})
	}
	if i := slices.IndexFunc(f.Pods, isBeingMade); i >= 0 && err == nil {
		f.Warnings, err = warnedOf(ctx, c, namespace, []types.UID{f.Pods[i].UID}, client.MatchingFields{})
	}
	return err
}

// EventUIDs returns the UIDs of what events about the job may be about: the job, its GenericJob, and the training job of a GenericJob. The operator
// tells a training job's events about it alone, and a user who may not read that job may read its events.
func (f *Family) EventUIDs() []types.UID {
	uids := []types.UID{f.Job.GetUID()}
	if f.GenericJob != nil && f.GenericJob.UID != uids[0] {
		uids = append(uids, f.GenericJob.UID)
	}
	if owner := OwnerOf(f.Kind, f.Job); owner != nil {
		uids = append(uids, owner.UID)
	}
	return uids
}

// warnedOf returns what is warned of about objects, the oldest first. It reads all: the newest may be the last that is listed, and Kubernetes deletes
// events after an hour.
func warnedOf(ctx context.Context, c client.Reader, namespace string, uids []types.UID, of client.MatchingFields) (all []corev1.Event, err error) {
	for _, uid := range uids {
		of["involvedObject.uid"], of["type"] = string(uid), corev1.EventTypeWarning
		events := &corev1.EventList{}
		if err := c.List(ctx, events, client.InNamespace(namespace), of); err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		all = append(all, events.Items...)
	}
	slices.SortStableFunc(all, byTime)
	return all, nil
}

func byTime(a, b corev1.Event) int { return HappenedAt(&a).Compare(HappenedAt(&b)) }

// HappenedAt returns when an event was last reported.
func HappenedAt(e *corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	default:
		return e.CreationTimestamp.Time
	}
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
	slices.SortStableFunc(events.Items, byTime)
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
