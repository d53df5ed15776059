package podstate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/kernel/spec"
)

// NotReadyNode describes a pod whose node is not Ready: nobody knows whether its code runs.
type NotReadyNode struct {
	Node  string
	Since time.Time // when the node controller found it
	Until time.Time // when Kubernetes deletes the pod if the node stays so; zero if the pod tolerates it without a limit
	// Forced is when the operator then deletes the pod by force; zero if it does not.
	Forced time.Time
}

// NotReadyNode returns since when the pod's node is not Ready, and what follows. It returns nil if the node is Ready, as far as the pod's conditions
// say: the operator watches no nodes.
func (j Judge) NotReadyNode(p Pod) *NotReadyNode {
	since := lostSince(p.Pod)
	if since.IsZero() {
		return nil
	}
	lost := &NotReadyNode{Node: p.Spec.NodeName, Since: since, Until: deletedAt(p.Pod, since)}
	if j.ForceReplaceAfter > 0 && !lost.Until.IsZero() {
		lost.Forced = lost.Until.Add(spec.Grace(p.Template))
	}
	return lost
}

// lostSince returns when the node controller said, in a pod's conditions, that its node is not Ready; zero if it did not. The controller sets the
// condition Ready to False and leaves the rest as it was: no reason, and ContainersReady True. A kubelet that sets Ready to False gives a reason.
// Source: MarkPodsNotReady in pkg/controller/util/node of Kubernetes.
func lostSince(pod *corev1.Pod) time.Time {
	ready, containers := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	if pod.Spec.NodeName == "" || ready == nil || ready.Status != corev1.ConditionFalse || ready.Reason != "" ||
		containers == nil || containers.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

// byTaint is the reason with which Kubernetes deletes pods that do not tolerate a taint of their node, or not any longer.
const byTaint = "DeletionByTaintManager"

// showsNodeLoss reports whether a pod shows that its node may be lost. The node controller has said so, or Kubernetes has deleted the pod because of a
// taint. The taint is needed because the node controller says nothing in a pod that was not Ready yet.
func showsNodeLoss(pod *corev1.Pod) bool {
	target := disruptionTarget(pod)
	return pod.Spec.NodeName != "" && (!lostSince(pod).IsZero() || target != nil && target.Reason == byTaint)
}

// deletedAt returns when Kubernetes deletes a pod whose node has been silent since a time; zero if the pod tolerates that without a limit. A trimmed
// pod has its toleration only if showsNodeLoss is true for it.
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

// toleration returns the toleration that decides how long a pod waits for a silent node. It is the first that tolerates the taint of such a node; nil
// if none does. Source: GetMatchingTolerations in pkg/apis/core/v1/helper of Kubernetes, which pkg/controller/tainteviction calls.
func toleration(list []corev1.Toleration) *corev1.Toleration {
	for i := range list {
		if spec.ToleratesLoss(&list[i], corev1.TaintNodeUnreachable) {
			return &list[i]
		}
	}
	return nil
}

// HasLostItsNode reports whether the pod ended because its node was lost: the node was not Ready, or it does not know how the pod ended.
func (p Pod) HasLostItsNode() bool { return showsNodeLoss(p.Pod) || p.WasLostByNode() || p.isUnknown() }

// LostSince returns when the node controller found that the pod's node was not Ready; zero if it did not.
func (p Pod) LostSince() time.Time { return lostSince(p.Pod) }

// WasLostByNode reports whether the node does not know how the container that restarts in place last ended, as after a reboot. Then that end was not
// the code's.
func (p Pod) WasLostByNode() bool {
	last := p.lastExit()
	return last != nil && isInvented(last)
}
