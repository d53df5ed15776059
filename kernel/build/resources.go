package build

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// leastResources is what the fewest replicas that are placed together ask for, as an object's spec says it, unless the user has
// said how much it is. The replicas are taken in the order of the spec.
func leastResources(job *v1beta1.GenericJob, g Group, own corev1.ResourceList) map[string]any {
	sum := own
	if len(sum) == 0 {
		sum = corev1.ResourceList{}
		todo := g.Least
		for i, left := range g.Left {
			n := min(left, todo)
			todo -= n
			for name, q := range requests(&job.Spec.ReplicaSpecs[i].Template.Spec) {
				q.Mul(int64(n))
				add(sum, name, q)
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

// requests is what a pod asks its node for: its containers together with its sidecars, or an init container that asks for more; and
// its overhead. See "Resource Management for Pods and Containers", "Init containers" and KEP-753.
func requests(pod *corev1.PodSpec) corev1.ResourceList {
	sum, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		during := sidecars.DeepCopy()
		for name, q := range spec.Asked(c) {
			if isSidecar(c) {
				add(sidecars, name, q)
			}
			add(during, name, q)
		}
		raise(most, during)
	}
	for i := range pod.Containers {
		for name, q := range spec.Asked(&pod.Containers[i]) {
			add(sum, name, q)
		}
	}
	for name, q := range sidecars {
		add(sum, name, q)
	}
	raise(sum, most)
	for name, q := range pod.Overhead {
		add(sum, name, q)
	}
	return sum
}

func add(sum corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	all := sum[name].DeepCopy()
	all.Add(q)
	sum[name] = all
}

// raise raises quantities to those of another list that are higher.
func raise(list, to corev1.ResourceList) {
	for name, q := range to {
		if have := list[name]; q.Cmp(have) > 0 {
			list[name] = q.DeepCopy()
		}
	}
}
