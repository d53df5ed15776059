package spec

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// IsSidecar reports whether an init container runs beside the others, until they have ended.
func IsSidecar(c *corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// Asked returns what a container asks its node for: its requests, and its limits where it has no request.
func Asked(c *corev1.Container) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range c.Resources.Limits {
		out[name] = q
	}
	for name, q := range c.Resources.Requests {
		out[name] = q
	}
	return out
}

// Requests returns what a pod asks its node for, with its overhead. A pod asks for what it says as a whole, else for what its containers ask for.
func Requests(pod *corev1.PodSpec) corev1.ResourceList {
	sum := containerRequests(pod)
	for name, q := range podRequests(pod, sum) {
		sum[name] = q
	}
	for name, q := range pod.Overhead {
		Add(sum, name, q)
	}
	return sum
}

// PodRequests returns what a pod asks for in spec.resources, with the requests that the apiserver derives from its limits; nil if it says nothing
// there.
func PodRequests(pod *corev1.PodSpec) corev1.ResourceList {
	return podRequests(pod, containerRequests(pod))
}

// podRequests derives missing requests as the apiserver does: from what the containers ask for, and else from the pod's limit. Huge pages
// cannot be overcommitted: there the limit is the request. See "Pod-level resource specification" and KEP-2837.
func podRequests(pod *corev1.PodSpec, containers corev1.ResourceList) corev1.ResourceList {
	if pod.Resources == nil {
		return nil
	}
	var out corev1.ResourceList
	set := func(name corev1.ResourceName, q resource.Quantity) {
		if out == nil {
			out = corev1.ResourceList{}
		}
		out[name] = q.DeepCopy()
	}
	for name, limit := range pod.Resources.Limits {
		asked, ok := containers[name]
		switch {
		case !isForPods(name):
		case ok && !isHugePages(name):
			set(name, asked)
		default:
			set(name, limit)
		}
	}
	for name, q := range pod.Resources.Requests {
		if isForPods(name) {
			set(name, q)
		}
	}
	return out
}

// isForPods reports whether a resource counts in spec.resources of a pod.
func isForPods(name corev1.ResourceName) bool {
	return slices.Contains([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}, name) || isHugePages(name)
}

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// containerRequests returns what the containers of a pod ask for: all together with the sidecars, or an init container that asks for
// more. See "Init containers" and KEP-753.
func containerRequests(pod *corev1.PodSpec) corev1.ResourceList {
	sum, sidecars, most := corev1.ResourceList{}, corev1.ResourceList{}, corev1.ResourceList{}
	for i := range pod.InitContainers {
		c := &pod.InitContainers[i]
		during := sidecars.DeepCopy()
		for name, q := range Asked(c) {
			if IsSidecar(c) {
				Add(sidecars, name, q)
			}
			Add(during, name, q)
		}
		raise(most, during)
	}
	for i := range pod.Containers {
		for name, q := range Asked(&pod.Containers[i]) {
			Add(sum, name, q)
		}
	}
	for name, q := range sidecars {
		Add(sum, name, q)
	}
	raise(sum, most)
	return sum
}

// Add adds a quantity to that of a list.
func Add(sum corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
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
