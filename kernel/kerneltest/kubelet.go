package kerneltest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Start lets the kubelet start a pod that waits.
func (c *Cluster) Start(name string) {
	p := c.Pods[name]
	if p == nil || p.Status.Phase != corev1.PodPending || p.DeletionTimestamp != nil || !c.complete(p) {
		return
	}
	node := c.place(p)
	if node == "" {
		return
	}
	p = p.DeepCopy()
	now := metav1.NewTime(c.Now)
	p.Spec.NodeName, p.Status.PodIP = node, "192.0.2.1"
	p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &now
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}}}
	c.storePod(p)
}

// Exit ends the code of a running pod with an exit code, of its own accord.
func (c *Cluster) Exit(name string, code int32) {
	p := c.Pods[name]
	switch {
	case p == nil || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil:
	case code != 0 && podstate.RestartsInPlace(p):
		c.startAgain(p, code)
	default:
		c.end(p, code)
	}
}

// Overdue ends a pod whose deadline is over.
func (c *Cluster) Overdue(name string) {
	if p := c.Pods[name]; p != nil && p.Status.Phase == corev1.PodRunning && p.Spec.ActiveDeadlineSeconds != nil {
		c.end(p, 137)
	}
}

// startAgain is the kubelet that starts a container again which has failed.
func (c *Cluster) startAgain(p *corev1.Pod, code int32) {
	p = p.DeepCopy()
	s := &p.Status.ContainerStatuses[0]
	s.RestartCount++
	s.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.NewTime(c.Now),
	}}
	s.State.Running.StartedAt = metav1.NewTime(c.Now)
	c.storePod(p)
}

// end ends a running pod's containers. If the pod is being deleted, the kubelet then confirms its deletion.
func (c *Cluster) end(p *corev1.Pod, code int32) {
	p = p.DeepCopy()
	began := p.Status.ContainerStatuses[0].State.Running.StartedAt
	p.Status.Phase = corev1.PodSucceeded
	if code != 0 {
		p.Status.Phase = corev1.PodFailed
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: began, FinishedAt: metav1.NewTime(c.Now)},
	}}}
	c.storePod(p)
	if p.DeletionTimestamp != nil {
		c.deletePod(p.Name, p.UID, 0)
	}
}

// Terminate lets the kubelet end a running pod that is being deleted. Code that handles the signal may exit with 0.
func (c *Cluster) Terminate(name string, code int32) {
	if p := c.Pods[name]; p != nil && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp != nil {
		c.end(p, code)
	}
}

// Delete is an outsider's deletion of a pod.
func (c *Cluster) Delete(name string) {
	if p := c.Pods[name]; p != nil {
		c.deletePod(name, p.UID, grace)
	}
}

// Evict is an eviction by the node: the pod fails with a reason and stays.
func (c *Cluster) Evict(name string) {
	p := c.Pods[name]
	if p == nil || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
		return
	}
	p = p.DeepCopy()
	p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "TerminationByKubelet"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, FinishedAt: metav1.NewTime(c.Now)},
	}}}
	c.storePod(p)
}

// Lose has Kubernetes find that a node is silent, on which a running pod is.
func (c *Cluster) Lose(node, name string) {
	c.Nodes = map[string]podstate.Node{node: {SilentSince: c.Now}}
	p := c.Pods[name].DeepCopy()
	p.Spec.NodeName = node
	p.Status.Conditions = append(p.Status.Conditions,
		corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(c.Now)},
		corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
	c.storePod(p)
}

// DeleteByTaint is Kubernetes' deletion of a pod that does not tolerate the taint of its node any longer.
func (c *Cluster) DeleteByTaint(name string) {
	p := c.Pods[name].DeepCopy()
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", LastTransitionTime: metav1.NewTime(c.Now),
	})
	c.storePod(p)
	c.Delete(name)
}

// reports are those of wrappers which have done what their orders say.
func (c *Cluster) reports(pods []*corev1.Pod) map[types.UID]inplace.Report {
	all := map[types.UID]inplace.Report{}
	for _, p := range pods {
		if p.Status.Phase == corev1.PodRunning && !c.Mute[p.Name] {
			all[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: podstate.NumbersOf(p).CodeAttempt(), Exits: int(p.Status.ContainerStatuses[0].RestartCount)}
		}
	}
	return all
}
