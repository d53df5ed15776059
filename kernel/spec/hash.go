package spec

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// PodsHash returns a hash of what pods are made from, as far as users may edit it without a pause before code has started. It leaves out
// the numbers of replicas: pods that are there keep their variables when a job is scaled.
func PodsHash(job *v1beta1.GenericJob) string {
	types := make([]v1beta1.ReplicaSpec, len(job.Spec.ReplicaSpecs))
	for i := range types {
		types[i] = job.Spec.ReplicaSpecs[i]
		types[i].Replicas = nil
	}
	parts := []any{types, job.Spec.Service, job.Spec.Heartbeat}
	if job.Spec.NodeLost != nil { // else the hash is that of operators which did not know the field
		parts = append(parts, job.Spec.NodeLost)
	}
	if job.Spec.Progress != nil { // likewise
		parts = append(parts, job.Spec.Progress)
	}
	raw, err := json.Marshal(parts)
	if err != nil {
		return "" // cannot happen: it was read from JSON. Without a hash the job is edited in a pause alone
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))[:16]
}
