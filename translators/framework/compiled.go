package framework

import (
	"encoding/json"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A GenericJob that a training job owns has the spec that was compiled. The operator undoes any other edit of it. Until then the edit must have no
// effect: even a short pause would stop all pods, and no limit would count that. So the operator records the generation that it has written itself.
// The reconciler of GenericJobs waits while it sees a higher one.

// AnnotateCompiled records that the operator has compiled the spec that a GenericJob has in this generation, with these numbers of replicas.
func AnnotateCompiled(job *v1beta1.GenericJob, generation int64, elastic bool) {
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, strconv.FormatInt(generation, 10))
	numbers := compiledReplicas{Generation: generation, Elastic: elastic, Replicas: job.Spec.Replicas, Types: map[string]*int32{}}
	for _, r := range job.Spec.ReplicaSpecs {
		numbers.Types[r.Type] = r.Replicas
	}
	raw, err := json.Marshal(numbers)
	if err != nil {
		return // cannot happen: numbers can always be written
	}
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledReplicas, string(raw))
}

// compiledReplicas are the numbers of replicas in the spec of a generation; nil is one that the spec leaves out.
type compiledReplicas struct {
	Generation int64             `json:"generation"`
	Elastic    bool              `json:"elastic,omitempty"`
	Replicas   *int32            `json:"replicas,omitempty"`
	Types      map[string]*int32 `json:"types"`
}

// WithCompiledReplicas returns the spec of a GenericJob with the numbers of replicas that were compiled. These may be others than its training job
// asks for now. Elastic says that they may change while the job runs; see Program. If an earlier version of the operator has compiled it, which writes
// no numbers, the spec is as it was, and may be elastic.
func WithCompiledReplicas(job *v1beta1.GenericJob) (spec *v1beta1.GenericJobSpec, elastic bool) {
	spec, numbers := job.Spec.DeepCopy(), compiledReplicas{}
	err := json.Unmarshal([]byte(job.Annotations[v1beta1.AnnotationCompiledReplicas]), &numbers)
	if compiled, _ := IsEditedByOthers(job); err != nil || numbers.Generation != compiled {
		return spec, true
	}
	spec.Replicas = numbers.Replicas
	for i := range spec.ReplicaSpecs {
		if n, ok := numbers.Types[spec.ReplicaSpecs[i].Type]; ok {
			spec.ReplicaSpecs[i].Replicas = n
		}
	}
	return spec, numbers.Elastic
}

// IsEditedByOthers reports whether somebody else has changed the spec of a GenericJob since it was compiled. It returns the generation that was
// compiled.
func IsEditedByOthers(job *v1beta1.GenericJob) (compiled int64, edited bool) {
	n, err := strconv.ParseInt(job.Annotations[v1beta1.AnnotationCompiledGeneration], 10, 64)
	return n, err == nil && job.Generation > n && metav1.GetControllerOf(job) != nil
}
