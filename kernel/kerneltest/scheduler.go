package kerneltest

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
)

// groups are the PodGroups, by name.
func (c *Cluster) groups() []*unstructured.Unstructured {
	var list []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(c.Groups)) {
		list = append(list, c.Groups[name])
	}
	return list
}

// applyGroup stores a PodGroup. Those of Kubernetes' own scheduler cannot be changed.
func (c *Cluster) applyGroup(want *unstructured.Unstructured) {
	have := c.Groups[want.GetName()]
	if have != nil && build.GroupsAreImmutable(c.Job) && !equality.Semantic.DeepEqual(have.Object["spec"], want.Object["spec"]) {
		panic("the policy of a PodGroup is immutable")
	}
	c.rv++
	c.Groups[want.GetName()] = want.DeepCopy()
}

// complete reports whether the scheduler would place a pod: with a gang scheduler, whether as many of its group are there as are placed
// together. Schedulers do not see pods that have finished.
func (c *Cluster) complete(pod *corev1.Pod) bool {
	if build.GangVersions(c.Job) == nil {
		return true
	}
	name := c.Job.Name
	if number, is := pod.Labels[v1beta1.LabelGang]; is {
		name += "-" + number
	}
	group, members := c.Groups[name], int64(0)
	if group == nil {
		return false
	}
	for _, p := range c.Pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if p.Labels[v1beta1.LabelGang] == pod.Labels[v1beta1.LabelGang] && !ended {
			members++
		}
	}
	return members >= Minimum(group)
}

// Minimum is how many pods a PodGroup wants to be placed together.
func Minimum(group *unstructured.Unstructured) int64 {
	least, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
	count, _, _ := unstructured.NestedInt64(group.Object, "spec", "schedulingPolicy", "gang", "minCount")
	return max(least, count)
}
