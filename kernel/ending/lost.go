package ending

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// NodeLoss describes a pod whose node is not Ready: nobody knows whether its code runs.
type NodeLoss struct {
	Node  string
	Since time.Time // when the node controller found it
	Until time.Time // when Kubernetes deletes the pod if the node stays so; zero if the pod tolerates it without a limit
}

// NodeLoss is nil for a pod whose node is Ready, as far as the pod's conditions say. The operator watches no nodes.
func (p Pod) NodeLoss() *NodeLoss {
	since := lostSince(p.Pod)
	if since.IsZero() {
		return nil
	}
	lost := &NodeLoss{Node: p.Spec.NodeName, Since: since, Until: since}
	if t := toleration(p.Spec.Tolerations); t != nil && t.TolerationSeconds == nil {
		lost.Until = time.Time{}
	} else if t != nil {
		lost.Until = since.Add(time.Duration(max(0, *t.TolerationSeconds)) * time.Second)
	}
	return lost
}

// lostSince is when the node controller has said of a pod that its node is not Ready; zero if it has not. It takes the pod's condition Ready back,
// and leaves the rest as it was: no reason, and ContainersReady True. A kubelet that takes Ready back gives a reason.
// Source: MarkPodsNotReady in pkg/controller/util/node of Kubernetes.
func lostSince(pod *corev1.Pod) time.Time {
	ready, containers := condition(pod, corev1.PodReady), condition(pod, corev1.ContainersReady)
	if pod.Spec.NodeName == "" || ready == nil || ready.Status != corev1.ConditionFalse || ready.Reason != "" ||
		containers == nil || containers.Status != corev1.ConditionTrue {
		return time.Time{}
	}
	return ready.LastTransitionTime.Time
}

// toleration is the one by which Kubernetes has a pod wait longest for its node, which is the shortest of those that apply. It is nil if none does.
// Source: getMinTolerationTime in pkg/controller/tainteviction of Kubernetes.
func toleration(list []corev1.Toleration) *corev1.Toleration {
	var shortest *corev1.Toleration
	for i := range list {
		t := &list[i]
		switch {
		case !toleratesLoss(t):
		case shortest == nil, shortest.TolerationSeconds == nil,
			t.TolerationSeconds != nil && *t.TolerationSeconds < *shortest.TolerationSeconds:
			shortest = t
		}
	}
	return shortest
}

// toleratesLoss reports whether a toleration is for the taints of a node that is not Ready. These have no value.
func toleratesLoss(t *corev1.Toleration) bool {
	exists := t.Operator == corev1.TolerationOpExists
	equal := (t.Operator == "" || t.Operator == corev1.TolerationOpEqual) && t.Value == ""
	key := t.Key == corev1.TaintNodeUnreachable || t.Key == corev1.TaintNodeNotReady || t.Key == "" && exists
	return key && (exists || equal) && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
}
