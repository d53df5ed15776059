package kernel

import (
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Hash5 is the part of pod names that tells jobs of the same name apart: the first five hex digits of FNV-1a-64 over
// name and UID, as on TensorStack's platform.
func Hash5(job *v1beta1.GenericJob) string {
	h := fnv.New64a()
	h.Write([]byte(job.Name))
	h.Write([]byte(job.UID))
	return fmt.Sprintf("%016x", h.Sum64())[:5]
}

// PodName is the name of a replica's pod: <job>-<hash5>-<type>-<rank>.
func PodName(job *v1beta1.GenericJob, replicaType string, rank int) string {
	return podNameBase(job) + replicaType + "-" + strconv.Itoa(rank)
}

// podNameBase is what the names of all pods of a job begin with.
func podNameBase(job *v1beta1.GenericJob) string {
	return job.Name + "-" + Hash5(job) + "-"
}

// HostName is the short host name of a replica: <job>-<type>-<rank>. It resolves inside the job and equals the pod's own
// host name, which torchrun's c10d store relies on to find out who hosts it.
func HostName(job *v1beta1.GenericJob, replicaType string, rank int) string {
	return job.Name + "-" + replicaType + "-" + strconv.Itoa(rank)
}
