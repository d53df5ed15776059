package framework

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A GenericJob that a training job owns has the spec that was compiled. Whoever edits it has that undone. The edit must not act before:
// a pause of a moment would stop all pods, and no limit would count that. Therefore the operator records the generation that it has written
// itself, and a reconcile that sees a higher one waits.

// AnnotateCompiled records that the spec of a GenericJob was compiled in a generation.
func AnnotateCompiled(job *v1beta1.GenericJob, generation int64) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, strconv.FormatInt(generation, 10))
}

// IsEditedByOthers reports whether somebody else has changed the spec of a GenericJob since it was compiled, and in which generation
// that was.
func IsEditedByOthers(job *v1beta1.GenericJob) (compiled int64, edited bool) {
	n, err := strconv.ParseInt(job.Annotations[v1beta1.AnnotationCompiledGeneration], 10, 64)
	return n, err == nil && job.Generation > n && metav1.GetControllerOf(job) != nil
}
