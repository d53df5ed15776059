package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// leastResources returns what the fewest replicas that are placed together ask for, as an object's spec says it. If the user has said how much,
// it is that. The replicas are taken in the order of the spec.
func leastResources(job *v1beta1.GenericJob, g Group, own corev1.ResourceList) map[string]any {
	sum := own
	if len(sum) == 0 {
		sum = corev1.ResourceList{}
		todo := g.MinMember
		for i, left := range g.Left {
			n := min(left, todo)
			todo -= n
			for name, q := range spec.Requests(&job.Spec.ReplicaSpecs[i].Template.Spec) {
				q.Mul(int64(n))
				spec.Add(sum, name, q)
			}
		}
	}
	out := map[string]any{}
	for name, q := range sum {
		if !q.IsZero() {
			out[string(name)] = q.String()
		}
	}
	return out
}
