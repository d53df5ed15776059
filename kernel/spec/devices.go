package spec

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// accelerators are resources that count as devices, by what their names have after the slash, in lower case. Others, such as network cards and shares
// of memory, do not train.
var accelerators = []string{"gpu", "tpu", "npu", "mlu", "dcu", "xpu", "vacc", "neuron", "neuroncore", "neurondevice", "gaudi", "gaudi2", "gaudi3", "i915", "xe"}

// acceleratorFamilies are those whose names go on, as in nvidia.com/mig-1g.5gb, nvidia.com/gpu.shared or huawei.com/Ascend910.
var acceleratorFamilies = []string{"mig-", "gpu.", "gpu-", "ascend", "sgpu"}

// isDevice reports whether a resource is accelerators. It is asked for each resource in each reconcile, so it allocates nothing for the usual ones.
func isDevice(name corev1.ResourceName) bool {
	domain, kind, ok := strings.Cut(string(name), "/")
	if !ok || domain == "kubernetes.io" {
		return false
	}
	kind = strings.ToLower(kind)
	for _, known := range accelerators {
		if kind == known {
			return true
		}
	}
	for _, family := range acceleratorFamilies {
		if strings.HasPrefix(kind, family) {
			return true
		}
	}
	return false
}

// MostDevices is how many accelerators a job asks for at most, so far as its time is weighted by them. Its sums can be stored then for a hundred
// years.
const MostDevices = math.MaxInt32

// Devices returns how many accelerators a pod asks for, as extended resources. What a resource claim asks for is not among them.
func Devices(pod *corev1.PodSpec) (n int64) {
	for i := range pod.Containers {
		n += devices(&pod.Containers[i])
	}
	for i := range pod.InitContainers { // one of these that asks for more has it for itself
		if c := &pod.InitContainers[i]; IsSidecar(c) {
			n += devices(c)
		}
	}
	return n
}

// devices returns those of one container. Extended resources cannot be overcommitted: the limit is what is asked for.
func devices(c *corev1.Container) (n int64) {
	for name, q := range c.Resources.Limits {
		if isDevice(name) {
			n += min(max(0, q.Value()), MostDevices)
		}
	}
	return n
}
