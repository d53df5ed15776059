package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// PodsHash returns a hash of the fields that pods are made from and that users may edit, without a pause, before code has started. It leaves out the
// numbers of replicas, because existing pods keep their variables when a job is scaled.
func PodsHash(job *v1beta1.GenericJob) string {
	types := make([]v1beta1.ReplicaSpec, len(job.Spec.ReplicaSpecs))
	for i := range types {
		types[i] = job.Spec.ReplicaSpecs[i]
		types[i].Replicas, types[i].StartPolicy = nil, ""
	}
	parts := []any{types, job.Spec.Service, job.Spec.Heartbeat}
	// Later fields are appended only if they are set. So the hash of other jobs is still that of operators without the field. These two have different
	// JSON. Append the next field with its name, as []any{"name", value}: otherwise two fields of equal JSON would have the same hash.
	if job.Spec.NodeLost != nil {
		parts = append(parts, job.Spec.NodeLost)
	}
	if job.Spec.Progress != nil {
		parts = append(parts, job.Spec.Progress)
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return "" // cannot happen: it was read from JSON. A job without a hash can only be edited in a pause
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))[:16]
}
