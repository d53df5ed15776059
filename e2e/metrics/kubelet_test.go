package metrics

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv/played"
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

// playKubelets moves pods on as the kubelets of a cluster would, and as their annotations say.
func (r *run) playKubelets(ctx context.Context) {
	nodes := &played.Kubelet{Client: r.WithWatch, Namespace: "default", Node: "node", ExitCode: 143}
	nodes.Play(ctx, func(ctx context.Context, p *corev1.Pod) error {
		if p.DeletionTimestamp == nil && moveOn(p) {
			return r.Status().Update(ctx, p)
		}
		if p.Annotations[annotationStuck] != "" {
			return nil
		}
		return nodes.Step(ctx, p)
	})
}

// moveOn gives a pod the status that its annotations ask for now, and reports whether they do.
func moveOn(p *corev1.Pod) bool {
	switch {
	case p.Annotations[annotationStuck] != "":
		if p.Status.Phase != corev1.PodPending || len(p.Status.Conditions) > 0 {
			return false
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient example.com/gpu."}}
	case p.Status.Phase == corev1.PodRunning && p.Annotations[annotationLife] != "":
		life, err := time.ParseDuration(p.Annotations[annotationLife])
		if err != nil || time.Since(p.Status.StartTime.Time) < life {
			return false
		}
		reason := p.Annotations[annotationCrash]
		if reason == "" || p.Labels[v1beta1.LabelAttempt] != "0" {
			played.End(p, 0)
			return true
		}
		played.End(p, 1)
		p.Status.ContainerStatuses[0].State.Terminated.Reason = reason
	default:
		return false
	}
	return true
}
