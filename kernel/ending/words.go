package ending

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Failure says which pod failed and how.
func Failure(pod *corev1.Pod) string {
	e := exitOf(pod)
	switch {
	case e == nil:
		return fmt.Sprintf("Pod[%s] failed: %s %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	case e.reason == oomKilled:
		return fmt.Sprintf("Pod[%s] exited with error code %d: container %s ran out of memory (OOMKilled); raise its memory limit",
			pod.Name, e.code, e.container)
	default:
		return fmt.Sprintf("Pod[%s] exited with error code %d", pod.Name, e.code)
	}
}

// Disruption says which pod was disrupted and by what.
func Disruption(pod *corev1.Pod) string {
	if IsDebug(pod) && Ended(pod) {
		return fmt.Sprintf("Pod[%s] ended in debug mode", pod.Name)
	}
	if c := disruptionTarget(pod); c != nil {
		return fmt.Sprintf("Pod[%s] was disrupted: %s", pod.Name, c.Reason)
	}
	switch {
	case !Ended(pod) && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds > 0:
		return fmt.Sprintf("Pod[%s] is Terminating and its node %s does not answer", pod.Name, pod.Spec.NodeName)
	case pod.Status.Reason != "":
		return fmt.Sprintf("Pod[%s] was disrupted: %s", pod.Name, pod.Status.Reason)
	case pod.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod[%s] was deleted", pod.Name)
	default:
		return fmt.Sprintf("Pod[%s] ended without an exit code of its own", pod.Name)
	}
}

// Scheduled says whether a pod has a node.
func Scheduled(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	c := condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// harmlessWaits are what containers wait for on their way to running.
var harmlessWaits = []string{"ContainerCreating", "PodInitializing", ""}

// Waiting says why a pod does not run; pod may be nil. The reason is empty where the pod is just on its way.
func Waiting(pod *corev1.Pod) (reason, message string) {
	switch {
	case pod == nil:
		return "", "its pod is not there yet"
	case pod.DeletionTimestamp != nil:
		return "", "its pod is Terminating"
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range statuses {
			if w := c.State.Waiting; w != nil && !slices.Contains(harmlessWaits, w.Reason) {
				return settledReason(w.Reason), fmt.Sprintf("container %s: %s: %s%s", c.Name, w.Reason, w.Message, remedy(w.Reason))
			}
		}
	}
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse {
		return c.Reason, fmt.Sprintf("%s: %s", c.Reason, c.Message)
	}
	return "", fmt.Sprintf("its pod is %s", pod.Status.Phase)
}

// settledReason is one reason for the two between which the kubelet goes back and forth: that would be an event each time.
func settledReason(reason string) string {
	if reason == "ErrImagePull" {
		return "ImagePullBackOff"
	}
	return reason
}

// remedy says what to do about the common reasons for which containers wait.
func remedy(reason string) string {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		return " (check the image's name in the template, and the pull secret)"
	case "CreateContainerConfigError":
		return " (check that the ConfigMaps and Secrets that the template names exist)"
	default:
		return ""
	}
}
