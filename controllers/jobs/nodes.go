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

// lookAtNodes reads, live, the nodes on which it depends what pods mean that stay Terminating. Few pods ever do for so long, and a cache of nodes
// would cost every cluster memory and watches.
func (r *Reconciler) lookAtNodes(ctx context.Context, w kernel.World) (map[string]ending.Node, error) {
	judge := ending.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter}
	var seen map[string]ending.Node
	for _, pod := range w.Pods {
		name := pod.Spec.NodeName
		if _, known := seen[name]; known || name == "" || !judge.DependsOnNode(pod) {
			continue
		}
		node, err := r.lookAtNode(ctx, name)
		if err != nil {
			return nil, err
		}
		if seen == nil {
			seen = map[string]ending.Node{}
		}
		seen[name] = node
	}
	return seen, nil
}

// lookAtNode reads a node. It answers if it is there and Ready, and nobody has declared it out of service. It is silent if Kubernetes does not know
// whether it is Ready. An operator that may not read nodes takes all for answering: to wait is safe, and two writers of one checkpoint are not.
func (r *Reconciler) lookAtNode(ctx context.Context, name string) (ending.Node, error) {
	node := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return ending.Node{}, nil
	case apierrors.IsForbidden(err):
		log.FromContext(ctx).Info("a pod hangs, and whether its node answers cannot be seen: the operator may not get nodes", "node", name)
		return ending.Node{Answers: true}, nil
	case err != nil:
		return ending.Node{}, fmt.Errorf("look whether node %s answers: %w", name, err)
	}
	return nodeOf(node), nil
}

func nodeOf(node *corev1.Node) (is ending.Node) {
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionUnknown:
			is.SilentSince = c.LastTransitionTime.Time
		default:
			is.Answers = c.Status == corev1.ConditionTrue
		}
	}
	for _, t := range node.Spec.Taints {
		is.Answers = is.Answers && t.Key != corev1.TaintNodeOutOfService
	}
	return is
}
