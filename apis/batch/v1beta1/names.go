package v1beta1

import (
	"fmt"
	"hash/fnv"
	"strconv"
)

// HostName is the short host name of a replica: <job>-<type>-<rank>. It resolves inside the job if the job has a
// Service. It equals the pod's own host name: torchrun's c10d store relies on that to find out who hosts it.
func HostName(job, replicaType string, rank int) string {
	return job + "-" + replicaType + "-" + strconv.Itoa(rank)
}

// Hash5 is the part of generated names that tells objects of the same name apart. It is the first five hex digits of
// FNV-1a-64 over name and UID, as on TensorStack's platform.
func Hash5(name, uid string) string {
	h := fnv.New64a()
	h.Write([]byte(name))
	h.Write([]byte(uid))
	return fmt.Sprintf("%016x", h.Sum64())[:5]
}
