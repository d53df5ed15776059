package ending

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// NodeLoss describes a pod whose node is not Ready: nobody knows whether its code runs.
type NodeLoss struct {
	Node  string
	Since time.Time // when the node controller found it
	Until time.Time // when Kubernetes deletes the pod if the node stays so; zero if the pod tolerates it without a limit
	// Forced is when the operator then deletes the pod by force; zero if it does not.
	Forced time.Time
}

// NodeLoss is nil for a pod whose node is Ready, as far as the pod's conditions say. The operator watches no nodes.
func (j Judge) NodeLoss(p Pod) *NodeLoss {
	since := lostSince(p.Pod)
	if since.IsZero() {
		return nil
	}
	lost := &NodeLoss{Node: p.Spec.NodeName, Since: since, Until: deletedAt(p.Pod, since)}
	if j.ForceReplaceAfter > 0 && !lost.Until.IsZero() {
		lost.Forced = lost.Until.Add(spec.Grace(p.Template))
	}
	return lost
}

// lostSince is when the node controller has said of a pod that its node is not Ready; zero if it has not. The controller takes the pod's condition
// Ready back, and leaves the rest as it was: no reason, and ContainersReady True. A kubelet that takes Ready back gives a reason.
// Source: MarkPodsNotReady in pkg/controller/util/node of Kubernetes.
func lostSince(pod *corev1.Pod) time.Time {
	ready, containers := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	if pod.Spec.NodeName == "" || ready == nil || ready.Status != corev1.ConditionFalse || ready.Reason != "" ||
		containers == nil || containers.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

// byTaint is the reason with which Kubernetes deletes the pods of a node with a taint that they do not tolerate, or not any longer.
const byTaint = "DeletionByTaintManager"

// tellsOfLoss reports whether a pod tells that its node may be lost. The node controller has said so, or Kubernetes has deleted the pod for a taint.
// Of a pod that was not Ready yet the node controller says nothing.
func tellsOfLoss(pod *corev1.Pod) bool {
	target := disruptionTarget(pod)
	return pod.Spec.NodeName != "" && (!lostSince(pod).IsZero() || target != nil && target.Reason == byTaint)
}

// deletedAt is when Kubernetes deletes a pod whose node is silent since a time; zero if the pod tolerates that without a limit. A pod that was
// trimmed has its toleration only if it tells of a lost node.
func deletedAt(pod *corev1.Pod, since time.Time) time.Time {
	switch t := toleration(pod.Spec.Tolerations); {
	case t == nil:
		return since
	case t.TolerationSeconds == nil:
		return time.Time{}
	default:
		return since.Add(time.Duration(max(0, *t.TolerationSeconds)) * time.Second)
	}
}

// toleration is the one by which Kubernetes has a pod wait for a node that is silent. It is the first that tolerates the taint of such a node, or
// nil if none does.
// Source: GetMatchingTolerations in pkg/apis/core/v1/helper of Kubernetes, which pkg/controller/tainteviction calls.
func toleration(list []corev1.Toleration) *corev1.Toleration {
	for i := range list {
		if spec.ToleratesLoss(&list[i], corev1.TaintNodeUnreachable) {
			return &list[i]
		}
	}
	return nil
}
