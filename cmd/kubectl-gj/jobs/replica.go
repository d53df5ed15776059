package jobs

import (
	"cmp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// ReplicaOf returns the replica whose pod has this name, which may be gone. It is not ok if the job names no pod so.
func ReplicaOf(job *v1beta1.GenericJob, pod string) (replicaType string, rank int, ok bool) {
	if job == nil {
		return "", 0, false
	}
	rank, err := strconv.Atoi(pod[strings.LastIndex(pod, "-")+1:]) // the job may have had more replicas then
	if err != nil {
		return "", 0, false
	}
	names := spec.NamesOf(job)
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		if names.Is(pod, r.Type, rank) || names.Was(pod, r.Type, rank) {
			return r.Type, rank, true
		}
	}
	return "", 0, false
}

// AddressOf returns how commands call a GenericJob, or the job that it belongs to, as in pj/mnist.
func AddressOf(job *v1beta1.GenericJob) string {
	of, name := genericJobs(), job.Name
	if owner := OwnerOf(of, job); owner != nil {
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
		of, name = cmp.Or(ByKind(kind), Defined(kind)), owner.Name
	}
	return of.Short() + "/" + name
}
