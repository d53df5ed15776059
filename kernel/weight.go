package kernel

import (
	"cmp"
	"unsafe"

	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// perReplica is what a reconcile keeps of each replica of a job that has pods, in bytes: two pointers, see roster.Type.
const perReplica = 2 * int(unsafe.Sizeof(uintptr(0)))

// Weight estimates how many bytes Plan takes in addition to the world. A job of a few kilobytes may have thousands of replicas, and its ledger may
// name more.
func Weight(w World) int {
	bytes := ledger.Weight(w.Job)
	for _, t := range spec.ReplicaTypes(w.Job, false) {
		bytes += min(t.N, cmp.Or(w.MaxCreates, t.N)) * int(unsafe.Sizeof(Action{}))
		if len(w.Pods) > 0 {
			bytes += t.N * perReplica
		}
	}
	return bytes
}
