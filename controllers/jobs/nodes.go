package jobs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/ending"
)

// healthyNodes reads, live, the nodes of pods that stay Terminating for longer than a node takes that answers. It returns those that do
// answer. Few pods ever hang, and a cache of nodes would cost every cluster memory and watches.
func (r *Reconciler) healthyNodes(ctx context.Context, w kernel.World) (map[string]bool, error) {
	judge := ending.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter}
	var healthy map[string]bool
	for _, pod := range w.Pods {
		node := pod.Spec.NodeName
		if _, known := healthy[node]; known || node == "" || !judge.Hangs(pod) {
			continue
		}
		is, err := r.isHealthy(ctx, node)
		if err != nil {
			return nil, err
		}
		if healthy == nil {
			healthy = map[string]bool{}
		}
		healthy[node] = is
	}
	return healthy, nil
}

// isHealthy reports whether a node answers: it is there and Ready, and nobody has declared it out of service. An operator that may not
// read nodes takes all for healthy: to wait is safe, and two writers of one checkpoint are not.
func (r *Reconciler) isHealthy(ctx context.Context, name string) (bool, error) {
	node := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		log.FromContext(ctx).Info("a pod hangs, and whether its node answers cannot be seen: the operator may not get nodes", "node", name)
		return true, nil
	case err != nil:
		return false, fmt.Errorf("look whether node %s answers: %w", name, err)
	}
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeOutOfService {
			return false, nil
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue, nil
		}
	}
	return false, nil
}
