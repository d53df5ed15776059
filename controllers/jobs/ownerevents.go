package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/announce"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxPodEvents is the largest number of replicas with which each pod of a job gets its own event. In larger jobs one event names all pods that a
// reconcile creates: a thousand events would cost as much as the pods.
const maxPodEvents = 20

// ownerEvents collects what a reconcile creates, to tell the owner of it.
type ownerEvents struct {
	owner *metav1.OwnerReference
	lock  sync.Mutex
	made  []corev1.ObjectReference
}

// ownerEventsFor returns where to collect events for the owner of a job; nil if the owner wants none.
func (r *Reconciler) ownerEventsFor(job *v1beta1.GenericJob) *ownerEvents {
	owner := metav1.GetControllerOf(job)
	if owner == nil || !r.eventsForPods[schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)] {
		return nil
	}
	return &ownerEvents{owner: owner}
}

// add notes a pod or Service.
func (e *ownerEvents) add(o client.Object) {
	e.lock.Lock()
	defer e.lock.Unlock()
	kind := "Service"
	if _, ok := o.(*corev1.Pod); ok {
		kind = "Pod"
	}
	e.made = append(e.made, corev1.ObjectReference{APIVersion: "v1", Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()})
}

// emitAll emits what was collected as events about the owner, in the words of Kubeflow's own operator. They are lost if the
// operator is killed before.
func (r *Reconciler) emitAll(job *v1beta1.GenericJob, e *ownerEvents) {
	slices.SortFunc(e.made, func(a, b corev1.ObjectReference) int { return cmp.Compare(a.Name, b.Name) })
	regarding := announce.Reference(job.Namespace, e.owner)
	emit := func(related runtime.Object, kind, message string) {
		reason := "SuccessfulCreate" + kind
		// Related tells events apart that have the same reason: they would be counted as one otherwise.
		r.Recorder.Eventf(regarding, related, corev1.EventTypeNormal, reason, reason, "%s", text.Cut(message, announce.MaxNote))
	}
	var pods []string
	for _, o := range e.made {
		if o.Kind == "Pod" {
			pods = append(pods, o.Name)
		}
	}
	many := len(pods) > 1 && replicasOf(job) > maxPodEvents
	for i, o := range e.made {
		if o.Kind != "Pod" || !many {
			emit(&e.made[i], o.Kind, "Created "+strings.ToLower(o.Kind)+": "+o.Name)
		}
	}
	if many {
		first := slices.IndexFunc(e.made, func(o corev1.ObjectReference) bool { return o.Kind == "Pod" })
		emit(&e.made[first], "Pod", fmt.Sprintf("Created %d pods: %s", len(pods), strings.Join(pods, ", ")))
	}
}

func replicasOf(job *v1beta1.GenericJob) int {
	n := 0
	for i := range job.Spec.ReplicaSpecs {
		n += spec.Kept(job, &job.Spec.ReplicaSpecs[i])
	}
	return n
}
