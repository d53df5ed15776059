package framework

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A GenericJob that a training job owns has the spec that was compiled. The operator undoes any other edit of it. Until then the edit must have no
// effect: even a short pause would stop all pods, and no limit would count that. So the operator records the generation that it has written itself.
// The reconciler of GenericJobs waits while it sees a higher one.

// AnnotateCompiled records that the operator has compiled the spec that a GenericJob has in this generation.
func AnnotateCompiled(job *v1beta1.GenericJob, generation int64) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, strconv.FormatInt(generation, 10))
}

// IsEditedByOthers reports whether somebody else has changed the spec of a GenericJob since it was compiled. It returns the generation that was
// compiled.
func IsEditedByOthers(job *v1beta1.GenericJob) (compiled int64, edited bool) {
	n, err := strconv.ParseInt(job.Annotations[v1beta1.AnnotationCompiledGeneration], 10, 64)
	return n, err == nil && job.Generation > n && metav1.GetControllerOf(job) != nil
}
