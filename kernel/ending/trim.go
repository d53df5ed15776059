package ending

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
)

// maxMessage is how much of a message of the kubelet's or the scheduler's a trimmed pod keeps.
const maxMessage = 256

// Trim reduces a pod to what the kernel reads, in place. It is what a cache of pods should hold: a tenth of the memory.
func Trim(pod *corev1.Pod) *corev1.Pod {
	kept := metav1.ObjectMeta{
		Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds, Finalizers: pod.Finalizers, OwnerReferences: pod.OwnerReferences,
		Labels: chosen(pod.Labels, v1beta1.LabelJobUID, v1beta1.LabelJobName, v1beta1.LabelReplicaType, v1beta1.LabelReplicaRank,
			v1beta1.LabelAttempt, v1beta1.LabelModeEpoch, v1beta1.LabelGang, v1beta1.LabelDebug),
		Annotations: chosen(pod.Annotations, v1beta1.AnnotationStopped, v1beta1.AnnotationDisrupted),
	}
	status := corev1.PodStatus{
		Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: text.Cut(pod.Status.Message, maxMessage), StartTime: pod.Status.StartTime,
		InitContainerStatuses: trimContainers(pod.Status.InitContainerStatuses),
		ContainerStatuses:     trimContainers(pod.Status.ContainerStatuses),
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled || c.Type == corev1.DisruptionTarget {
			status.Conditions = append(status.Conditions, corev1.PodCondition{
				Type: c.Type, Status: c.Status, Reason: c.Reason, Message: text.Cut(c.Message, maxMessage), LastTransitionTime: c.LastTransitionTime,
			})
		}
	}
	*pod = corev1.Pod{ObjectMeta: kept, Status: status, Spec: corev1.PodSpec{
		NodeName: pod.Spec.NodeName, ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds, SchedulingGates: pod.Spec.SchedulingGates,
	}}
	return pod
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

func trimContainers(in []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range in {
		kept := corev1.ContainerStatus{Name: c.Name}
		switch s := c.State; {
		case s.Terminated != nil:
			kept.State.Terminated = &corev1.ContainerStateTerminated{
				ExitCode: s.Terminated.ExitCode, Reason: s.Terminated.Reason, FinishedAt: s.Terminated.FinishedAt,
			}
			if s.Terminated.ExitCode != 0 {
				kept.State.Terminated.Message = text.Tail(strings.TrimSpace(s.Terminated.Message), text.MaxWords)
			}
		case s.Running != nil:
			kept.State.Running = &corev1.ContainerStateRunning{}
		case s.Waiting != nil:
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: s.Waiting.Reason, Message: text.Cut(s.Waiting.Message, maxMessage)}
		}
		out = append(out, kept)
	}
	return out
}
