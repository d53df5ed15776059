package simulator

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// stopsServing notes that the operator deletes an auxiliary replica of a job that has finished, and whose pods stay. None that it served may
// run on after that; one that ends just then does no harm.
func (t *truth) stopsServing(o client.Object) {
	p, ok := o.(*corev1.Pod)
	if !ok || over(p) {
		return
	}
	job, _, _ := t.of(p)
	if job != nil && job.Status.CompletionTime != nil && auxiliary(job, p) && keepsPods(job) {
		t.unserved[job.UID] = true
	}
}

func keepsPods(job *v1beta1.GenericJob) bool {
	return job.Spec.CleanUpPolicy == "" || job.Spec.CleanUpPolicy == v1beta1.CleanUpNone
}

// anyIsServed reports whether another replica of a job whose pods stay runs than an auxiliary one.
func (t *truth) anyIsServed(job *v1beta1.GenericJob) bool {
	for _, p := range t.life.api.pods() {
		if keepsPods(job) && metav1.IsControlledBy(p, job) && !auxiliary(job, p) && !over(p) {
			return true
		}
	}
	return false
}
