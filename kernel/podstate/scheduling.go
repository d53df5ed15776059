package podstate

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// IsScheduled reports whether a pod has a node.
func IsScheduled(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	c := condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue
}

// IsUnschedulable reports whether a scheduler has found no node for a pod.
func IsUnschedulable(pod *corev1.Pod) bool {
	c := condition(pod, corev1.PodScheduled)
	return pod.DeletionTimestamp == nil && !IsScheduled(pod) && c != nil && c.Status == corev1.ConditionFalse && c.Reason != corev1.PodReasonSchedulingGated
}

// Unheard returns the first pod that waits for a node, if the scheduler has said nothing of any pod that waits. Otherwise it returns nil. It skips nil
// pods, and pods with ResourceClaims.
func Unheard(pods []*corev1.Pod) *corev1.Pod {
	var first *corev1.Pod
	for _, pod := range pods {
		switch {
		case pod == nil, pod.DeletionTimestamp != nil, pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "", IsScheduled(pod):
		case len(pod.Spec.ResourceClaims) > 0: // a scheduler may say nothing of it before they are there
		case condition(pod, corev1.PodScheduled) != nil:
			return nil
		case first == nil:
			first = pod
		}
	}
	return first
}

// IsGated reports whether scheduling gates keep a pod from the scheduler. It is false for nil.
func IsGated(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) > 0
}

// gatesOf says what keeps a pod from the scheduler, if its condition says that it has scheduling gates. They may be gone: the condition stays until a
// scheduler sets another.
func gatesOf(pod *corev1.Pod) (reason, message string) {
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	switch {
	case len(names) == 0:
		return "", "its scheduling gates are gone, and no scheduler has said anything of it since"
	case slices.Equal(names, []string{spec.TopologyGate}):
		return "", "Kueue has not chosen its node yet"
	default:
		return corev1.PodReasonSchedulingGated, fmt.Sprintf("%s: no scheduler looks at it before these scheduling gates are removed, by whom they are for: %s",
			corev1.PodReasonSchedulingGated, strings.Join(names, ", "))
	}
}

// onItsWay are the kubelet's reasons for a container that it is about to start. Users are not told of these. With other reasons the kubelet starts the
// container later; for example, after a back-off, or when it can pull the image again. It gives such a reason even if the pod has lost its sandbox.
var onItsWay = []string{"", "ContainerCreating", "PodInitializing"}

// Waiting says why a pod does not run; pod may be nil. The reason is empty if the pod will start by itself soon.
func (j Judge) Waiting(pod *corev1.Pod) (reason, message string) {
	switch {
	case pod == nil:
		return "", "its pod is not there yet"
	case j.IsStuckTerminating(pod) && !j.IsOverdue(pod) && !j.Nodes[pod.Spec.NodeName].Assumed:
		return "", j.hanging(pod.Spec.NodeName)
	case pod.DeletionTimestamp != nil:
		return "", "its pod is Terminating" + j.onLostNode(pod)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && !slices.Contains(onItsWay, w.Reason) {
			return settledReason(w.Reason), fmt.Sprintf("container %s: %s: %s%s", c.Name, w.Reason, w.Message, advised(w.Reason, w.Message))
		}
	}
	return unplaced(pod)
}

// hanging says what is known of the node of a pod that stays Terminating and is waited for, and what to do.
func (j Judge) hanging(node string) string {
	if j.Nodes[node].Forbidden {
		return fmt.Sprintf("its pod is Terminating for longer than its grace period, and may still run. Nobody has looked whether node %s answers, "+
			"because the operator may not get nodes: give it that permission, or look by yourself. Find out what keeps the pod there, "+
			"or delete it with --grace-period=0 --force if you know that it does not run", node)
	}
	return fmt.Sprintf("its pod is Terminating for longer than its grace period, but node %s answers, so it may still run: "+
		"find out what keeps it there, or delete it with --grace-period=0 --force if you know that it does not", node)
}

// settledReason returns one reason for the two between which the kubelet alternates. Each change would be an event.
func settledReason(reason string) string {
	if reason == "ErrImagePull" {
		return "ImagePullBackOff"
	}
	return reason
}

// unplaced says why a pod has no node.
func unplaced(pod *corev1.Pod) (reason, message string) {
	switch c := condition(pod, corev1.PodScheduled); {
	case c == nil && !IsScheduled(pod) && len(pod.Spec.ResourceClaims) > 0:
		return "", "the scheduler has not looked at its pod, which it does once " + claim(pod)
	case c == nil || c.Status != corev1.ConditionFalse:
	case c.Reason == corev1.PodReasonSchedulingGated:
		return gatesOf(pod)
	default:
		return c.Reason, fmt.Sprintf("%s: %s%s", c.Reason, c.Message, advised(c.Reason, c.Message))
	}
	return "", fmt.Sprintf("its pod is %s", pod.Status.Phase)
}

// claim says of the first ResourceClaim that a pod needs and may lack that it must be there, and what to check. A scheduler says nothing of a pod
// before all its claims exist.
func claim(pod *corev1.Pod) string {
	first := pod.Spec.ResourceClaims[0]
	for _, c := range pod.Spec.ResourceClaims {
		made := slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name })
		if c.ResourceClaimTemplateName != nil && !made {
			return fmt.Sprintf("a ResourceClaim of the ResourceClaimTemplate %q is there; check that the namespace of the job has this template", *c.ResourceClaimTemplateName)
		}
		if c.ResourceClaimName != nil && first.ResourceClaimName == nil {
			first = c
		}
	}
	if first.ResourceClaimName == nil {
		return fmt.Sprintf("its ResourceClaim %q is there", first.Name)
	}
	return fmt.Sprintf("the ResourceClaim %q is there; check that the namespace of the job has it", *first.ResourceClaimName)
}
