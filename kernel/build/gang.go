package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// gang is a gang scheduler: two pure functions. A new one is a file with a value of this type, and a line in gangOf.
type gang interface {
	// objects are what the scheduler wants to exist before the pods.
	objects(job *v1beta1.GenericJob) []*unstructured.Unstructured
	// bind makes a pod of a replica type one of the gang.
	bind(job *v1beta1.GenericJob, replicaType string, pod *corev1.Pod)
}

// gangOf is the job's gang scheduler, nil if it has none.
func gangOf(job *v1beta1.GenericJob) gang {
	switch s := job.Spec.Scheduler; {
	case s == nil:
		return nil
	case s.T9kScheduler != nil:
		return t9kGang{}
	default:
		return nil
	}
}

// GangObjects are the objects that the job's gang scheduler wants, owned by the job; none if it has no such scheduler.
func GangObjects(job *v1beta1.GenericJob) []*unstructured.Unstructured {
	g := gangOf(job)
	if g == nil {
		return nil
	}
	return g.objects(job)
}

// gangSize is the number of replicas that are placed together or not at all. A gang larger than the job would never be.
func gangSize(job *v1beta1.GenericJob) int64 {
	all := 0
	for i := range job.Spec.ReplicaSpecs {
		all += spec.Replicas(job, &job.Spec.ReplicaSpecs[i])
	}
	if least := job.Spec.Scheduler.MinMember; least != nil {
		all = min(all, int(*least))
	}
	return int64(all)
}

// Has says whether an object is among those that exist, belongs to the same owner and has the wanted spec.
func Has(objects []*unstructured.Unstructured, want *unstructured.Unstructured) bool {
	for _, have := range objects {
		if have.GroupVersionKind() == want.GroupVersionKind() && have.GetName() == want.GetName() {
			owner := metav1.GetControllerOf(have)
			return owner != nil && owner.UID == metav1.GetControllerOf(want).UID && contains(have.Object["spec"], want.Object["spec"])
		}
	}
	return false
}

// contains says whether have holds all that want says; it may hold more, defaults for example.
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
