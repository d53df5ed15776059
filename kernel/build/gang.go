package build

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// gangScheduler is a scheduler of gangs, as pure functions. A new one is a file with a type that implements this, and a line in gangSchedulerOf. Each
// scheduler knows a job by a PodGroup, which exists before the pods.
type gangScheduler interface {
	// versions returns the API versions that the scheduler's PodGroups may have, the best first.
	versions() []string
	// spec returns the spec of the job's PodGroup.
	spec(job *v1beta1.GenericJob, g Group) map[string]any
	// addToGroup puts a pod of a replica type into the PodGroup of that name.
	addToGroup(s *v1beta1.SchedulePolicy, group, replicaType string, pod *corev1.Pod)
}

// Group is what a gang scheduler has to know of a job's run.
type Group struct {
	// Number is the number in status.gang; 0 if the scheduler's PodGroups can be changed.
	Number int32
	// MinMember is how many pods are placed together or not at all.
	MinMember int
	// Left are the numbers of replicas that have not finished, by type in the order of the spec.
	Left []int
}

// gangSchedulerOf returns the job's gang scheduler, nil if it has none.
func gangSchedulerOf(job *v1beta1.GenericJob) gangScheduler {
	switch s := job.Spec.Scheduler; {
	case s == nil:
		return nil
	case s.T9kScheduler != nil:
		return t9kGang{}
	case s.Kubernetes != nil:
		return kubernetesGang{}
	case s.Volcano != nil:
		return volcanoGang{}
	case s.Coscheduling != nil:
		return coschedulingGang{}
	case s.KAI != nil:
		return kaiGang{}
	default:
		return nil
	}
}

// GroupsAreImmutable reports whether the PodGroups of the job's gang scheduler cannot be changed. Then a new PodGroup takes the place of an old one,
// and their names have numbers.
func GroupsAreImmutable(job *v1beta1.GenericJob) bool {
	_, ok := gangSchedulerOf(job).(kubernetesGang)
	return ok
}

// GangVersions returns the versions of the API in which the PodGroup of the job's gang scheduler may be, the best first. A job without such a
// scheduler has none.
func GangVersions(job *v1beta1.GenericJob) []string {
	g := gangSchedulerOf(job)
	if g == nil {
		return nil
	}
	return g.versions()
}

// kindPodGroup is the kind of every gang scheduler's object.
const kindPodGroup = "PodGroup"

// GangObject returns the PodGroup that the job's gang scheduler wants, in a version of GangVersions; nil if it has no such scheduler. The
// job owns it.
func GangObject(job *v1beta1.GenericJob, g Group, version string) *unstructured.Unstructured {
	scheduler := gangSchedulerOf(job)
	if scheduler == nil {
		return nil
	}
	group := GangKey(job, g.Number, version)
	group.SetOwnerReferences([]metav1.OwnerReference{*controllerRef(job)})
	if GroupsAreImmutable(job) {
		group.SetLabels(map[string]string{v1beta1.LabelJobUID: string(job.UID)})
	}
	group.Object["spec"] = scheduler.spec(job, g)
	return group
}

// GangKey returns a PodGroup of the job with kind and name alone.
func GangKey(job *v1beta1.GenericJob, number int32, version string) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kindPodGroup}}
	group.SetName(groupName(job, number))
	group.SetNamespace(job.Namespace)
	return group
}

func groupName(job *v1beta1.GenericJob, number int32) string {
	if !GroupsAreImmutable(job) {
		return job.Name
	}
	return fmt.Sprintf("%s-%d", job.Name, number)
}

// Has reports whether an object is among those that exist, belongs to the same owner and has the wanted spec.
func Has(objects []*unstructured.Unstructured, want *unstructured.Unstructured) bool {
	for _, have := range objects {
		if have.GroupVersionKind() == want.GroupVersionKind() && have.GetName() == want.GetName() {
			owner := metav1.GetControllerOf(have)
			return owner != nil && owner.UID == metav1.GetControllerOf(want).UID && contains(have.Object["spec"], want.Object["spec"])
		}
	}
	return false
}

// contains reports whether have has everything that want has. It may have more, for example defaults.
func contains(have, want any) bool {
	w, isMap := want.(map[string]any)
	if !isMap {
		return equality.Semantic.DeepEqual(have, want)
	}
	h, _ := have.(map[string]any)
	for key, value := range w {
		if !contains(h[key], value) {
			return false
		}
	}
	return true
}

// set sets a label or an annotation.
func set(in *map[string]string, key, value string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[key] = value
}

// SchedulerOf returns the name of the scheduler of a pod that is made from a template.
func SchedulerOf(job *v1beta1.GenericJob, t *corev1.PodTemplateSpec) string {
	pod := &corev1.Pod{Spec: corev1.PodSpec{SchedulerName: t.Spec.SchedulerName}}
	if g := gangSchedulerOf(job); g != nil {
		g.addToGroup(job.Spec.Scheduler, "", "", pod)
	}
	return cmp.Or(pod.Spec.SchedulerName, corev1.DefaultSchedulerName)
}

// scheduledBy names the scheduler of a pod, unless its template has.
func scheduledBy(pod *corev1.Pod, scheduler string) {
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = scheduler
	}
}
