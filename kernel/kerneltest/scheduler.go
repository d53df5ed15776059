package kerneltest

import (
	"maps"
	"slices"
	"strconv"

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
	if number, ok := pod.Labels[v1beta1.LabelGang]; ok {
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

// place is the node that the scheduler chooses for a pod: that of its rank, or else the next one that its required affinity allows. It is "" if there
// is none, which the pod then says.
func (c *Cluster) place(pod *corev1.Pod) string {
	if len(c.NodeNames) == 0 {
		return "node"
	}
	rank, _ := strconv.Atoi(pod.Labels[v1beta1.LabelReplicaRank])
	for i := range c.NodeNames {
		if node := c.NodeNames[(rank+i)%len(c.NodeNames)]; Allows(pod, node) {
			return node
		}
	}
	pod = pod.DeepCopy()
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available.",
	}}
	c.storePod(pod)
	return ""
}

// Allows reports whether the required affinity of a pod lets it go to a node, by the node's name alone.
func Allows(pod *corev1.Pod, node string) bool {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	return slices.ContainsFunc(a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		excludes := func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == "metadata.name" && slices.Contains(r.Values, node) == (r.Operator == corev1.NodeSelectorOpNotIn)
		}
		return len(t.MatchFields)+len(t.MatchExpressions) > 0 && !slices.ContainsFunc(t.MatchFields, excludes)
	})
}
