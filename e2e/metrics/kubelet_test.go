package metrics

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The annotations of a pod that say what a played kubelet does with it.
const (
	// annotationLife is how long the code runs, as a duration; for ever without it.
	annotationLife = "example.com/life"
	// annotationCrash is how the code of the job's first pods ends: Error or OOMKilled.
	annotationCrash = "example.com/crash"
	// annotationStuck has no node take the pod.
	annotationStuck = "example.com/stuck"
)

// playKubelets moves pods on as the kubelets of a cluster would, several times a second.
func (r *run) playKubelets(ctx context.Context) {
	for ctx.Err() == nil {
		pods := &corev1.PodList{}
		if err := r.List(ctx, pods, client.InNamespace("default")); err == nil {
			for i := range pods.Items {
				if p := &pods.Items[i]; moveOn(p, time.Now()) {
					_ = r.Status().Update(ctx, p) // a conflict, or it is gone: it is looked at again
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// moveOn gives a pod its next status, and reports whether there is one.
func moveOn(p *corev1.Pod, now time.Time) bool {
	switch {
	case p.Status.Phase == corev1.PodPending && p.Annotations[annotationStuck] != "":
		if len(p.Status.Conditions) > 0 {
			return false
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient example.com/gpu."}}
	case p.Status.Phase == corev1.PodPending:
		p.Status.Phase, p.Status.StartTime = corev1.PodRunning, &metav1.Time{Time: now}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: p.Spec.Containers[0].Name, Image: "i", ImageID: "i", Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now)}}}}
	case p.Status.Phase == corev1.PodRunning && p.Annotations[annotationLife] != "":
		life, err := time.ParseDuration(p.Annotations[annotationLife])
		if err != nil || now.Sub(p.Status.StartTime.Time) < life {
			return false
		}
		end := &corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: metav1.NewTime(now), StartedAt: *p.Status.StartTime}
		p.Status.Phase = corev1.PodSucceeded
		if reason := p.Annotations[annotationCrash]; reason != "" && p.Labels[v1beta1.LabelAttempt] == "0" {
			end.Reason, end.ExitCode, p.Status.Phase = reason, 1, corev1.PodFailed
		}
		p.Status.ContainerStatuses[0].Ready = false
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: end}
	default:
		return false
	}
	return true
}
