package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxMessage is how many bytes a trimmed pod keeps of a message of the kubelet or the scheduler. Messages of the kubelet begin with what it tried,
// and end with why that failed.
const maxMessage = 256

// maxRead is how many bytes are kept of what a container said last: what output.Read has found in it, and the end of the rest.
const maxRead = 1024

// maxClaims is how many ResourceClaims a trimmed pod keeps. Only messages need them, and a pod may have any number.
const maxClaims = 8

// kueueWorkload is the annotation of pods whose nodes Kueue chooses by a topology. Their node selectors say which nodes it has chosen.
const kueueWorkload = "kueue.x-k8s.io/workload"

// Trim reduces a pod to what the kernel reads, and makes no copy. A cache of such pods takes a tenth of the memory. An informer trims each pod of
// its first list twice. The second time, that which says what to keep is gone, so a trimmed pod stays as it is.
func Trim(pod *corev1.Pod) *corev1.Pod {
	if wasTrimmed(pod) {
		return pod
	}
	kept := metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds, Finalizers: pod.Finalizers, OwnerReferences: pod.OwnerReferences,
		Labels: chosen(pod.Labels, v1beta1.LabelJobUID, v1beta1.LabelJobName, v1beta1.LabelReplicaType, v1beta1.LabelReplicaRank,
			v1beta1.LabelAttempt, v1beta1.LabelModeGeneration, v1beta1.LabelOfEarlierBuilds, v1beta1.LabelGang, v1beta1.LabelDebug, v1beta1.LabelJobAttempt),
		Annotations: chosen(pod.Annotations, v1beta1.AnnotationStopped, v1beta1.AnnotationDisrupted, v1beta1.AnnotationAvoids, inplace.Annotation, kueueWorkload),
	}
	status := corev1.PodStatus{
		Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: text.Cut(pod.Status.Message, maxMessage), StartTime: pod.Status.StartTime,
		InitContainerStatuses: trimContainers(pod.Status.InitContainerStatuses),
		ContainerStatuses:     trimContainers(pod.Status.ContainerStatuses),
	}
	if IsWrapped(pod) {
		status.PodIP = Address(pod)
	}
	status.Conditions = trimConditions(pod)
	if !IsScheduled(pod) {
		status.ResourceClaimStatuses = pod.Status.ResourceClaimStatuses[:min(len(pod.Status.ResourceClaimStatuses), maxClaims)]
	}
	*pod = corev1.Pod{ObjectMeta: kept, Status: status, Spec: trimSpec(pod)}
	return pod
}

// wasTrimmed reports whether a pod was trimmed before: any other has containers.
func wasTrimmed(pod *corev1.Pod) bool { return len(pod.Spec.Containers) == 0 }

// trimSpec reduces a pod's spec to what says where it runs and what it waits for.
func trimSpec(pod *corev1.Pod) corev1.PodSpec {
	kept := corev1.PodSpec{NodeName: pod.Spec.NodeName, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds, SchedulingGates: pod.Spec.SchedulingGates,
		SchedulingGroup: pod.Spec.SchedulingGroup}
	if _, byTopology := pod.Annotations[kueueWorkload]; byTopology {
		kept.NodeSelector = pod.Spec.NodeSelector
	}
	if !IsScheduled(pod) {
		kept.ResourceClaims = pod.Spec.ResourceClaims[:min(len(pod.Spec.ResourceClaims), maxClaims)]
	}
	if waits := toleration(pod.Spec.Tolerations); waits != nil && showsNodeLoss(pod) {
		kept.Tolerations = []corev1.Toleration{*waits}
	}
	return kept
}

// trimConditions returns the conditions of a pod that decide anything. Readiness is kept only if it says more than the states of the containers.
func trimConditions(pod *corev1.Pod) []corev1.PodCondition {
	var kept []corev1.PodCondition
	lost := !lostSince(pod).IsZero()
	for _, c := range pod.Status.Conditions {
		switch c.Type {
		case corev1.PodScheduled, corev1.DisruptionTarget:
		case corev1.PodReady:
			if !lost && !isProbed(pod) {
				continue
			}
		case corev1.ContainersReady:
			if !lost {
				continue
			}
		default:
			continue
		}
		kept = append(kept, corev1.PodCondition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, Message: text.Cut(c.Message, maxMessage), LastTransitionTime: c.LastTransitionTime,
		})
	}
	return kept
}

// isProbed reports whether a pod may be not Ready though its containers run. For other pods the condition says the same as the phase and the
// containers. Among init containers only sidecars can have probes.
func isProbed(pod *corev1.Pod) bool {
	by := func(c corev1.Container) bool { return c.ReadinessProbe != nil || c.StartupProbe != nil }
	return len(pod.Spec.ReadinessGates) > 0 || slices.ContainsFunc(pod.Spec.Containers, by) || slices.ContainsFunc(pod.Spec.InitContainers, by)
}

func chosen(in map[string]string, keys ...string) map[string]string {
	var out map[string]string
	for _, key := range keys {
		if value, ok := in[key]; ok {
			if out == nil {
				out = make(map[string]string, len(keys))
			}
			out[key] = value
		}
	}
	return out
}

// trimContainers reduces the states of containers to what the kernel reads.
func trimContainers(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range in {
		kept := corev1.ContainerStatus{Name: c.Name, RestartCount: c.RestartCount}
		if t := c.LastTerminationState.Terminated; t != nil {
			kept.LastTerminationState.Terminated = trimEnd(t)
		}
		switch s := c.State; {
		case s.Terminated != nil:
			kept.State.Terminated = trimEnd(s.Terminated)
			if isInvented(s.Terminated) {
				kept.ContainerID = c.ContainerID
			}
		case s.Running != nil:
			kept.State.Running = &corev1.ContainerStateRunning{StartedAt: s.Running.StartedAt}
		case s.Waiting != nil:
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: s.Waiting.Reason, Message: text.Middle(s.Waiting.Message, maxMessage)}
		}
		out = append(out, kept)
	}
	return out
}

func trimEnd(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	kept := &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, StartedAt: t.StartedAt, FinishedAt: t.FinishedAt}
	if t.ExitCode != 0 {
		said := output.Read(t.Message)
		said.Classify() // what is cut off may tell the kind
		kept.Message = said.Text(maxRead)
	}
	return kept
}
