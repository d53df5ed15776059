package jobs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

// lookAtNodes reads some nodes live. They are the nodes of pods that stay Terminating: whether such a node answers decides what the pod means. With
// them are the lost nodes that the job avoids. Mostly few pods need that, and a cache of nodes would cost every cluster memory and watches. If many
// do, as on a storage that hangs, a reconcile reads some of their nodes, and the next ones read others.
func (r *Reconciler) lookAtNodes(ctx context.Context, w kernel.World) (map[string]podstate.Node, error) {
	lost, look, m := r.lostNodes(w), newNodeLook(w), r.memory.Of(w.Job)
	for _, name := range look.inTurn(lost, m.lastNode) {
		if err := calls.CheckShutdown(ctx); err != nil {
			return nil, err
		}
		asked := r.Clock.Now()
		known, ok := r.nodeAnswers.get(name)
		if look.take(name, known, ok, asked) {
			continue
		}
		m.lastNode = name // also if it cannot be read: then others go first
		node, err := r.lookAtNode(ctx, name)
		if err != nil {
			return nil, err
		}
		look.seen[name] = node
		look.reads++
		r.nodeAnswers.put(name, nodeAnswer{node, asked}, r.Clock.Now())
	}
	if len(lost) > 0 {
		m.nextLost = w.Now.Add(kernel.LostInterval)
	}
	m.nodesAgain = look.again()
	return look.seen, nil
}

// lostNodes returns the nodes that a job avoids because they are lost, if it is time to look at them again. They are not looked at while all its pods
// have nodes.
func (r *Reconciler) lostNodes(w kernel.World) (names []string) {
	if w.Job.Status.CompletionTime != nil || !slices.ContainsFunc(w.Job.Status.AvoidedNodes, v1beta1.AvoidedNode.IsLost) {
		return nil
	}
	placed := len(w.Pods) >= replicasOf(w.Job) && !slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool { return !podstate.IsScheduled(p) })
	m := r.memory.Of(w.Job)
	if placed || w.Now.Before(m.nextLost) && m.nextLost.Sub(w.Now) <= kernel.LostInterval {
		return nil
	}
	for _, n := range w.Job.Status.AvoidedNodes {
		if n.IsLost() {
			names = append(names, n.Node)
		}
	}
	return names
}

// mayAvoid reports whether a job may avoid nodes for what has happened there.
func (r *Reconciler) mayAvoid(job *v1beta1.GenericJob) bool {
	return job.Status.CompletionTime == nil && spec.Avoidance(r.Settings.Avoiding(job)).Counts
}

// nodeCount is how many nodes the cluster had when they were last counted; 0 if that is not known.
type nodeCount struct {
	lock  sync.Mutex
	at    time.Time
	nodes int
}

// known returns the last count, and whether it is less than a minute old.
func (n *nodeCount) known(now time.Time) (nodes int, recent bool) {
	n.lock.Lock()
	defer n.lock.Unlock()
	age := now.Sub(n.at)
	return n.nodes, age >= 0 && age < time.Minute
}

func (n *nodeCount) set(nodes int, now time.Time) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.at, n.nodes = now, nodes
}

// countNodes counts the nodes for a job that may avoid some, once a minute for all jobs. It returns 0 if the operator may not list nodes.
func (r *Reconciler) countNodes(ctx context.Context, now time.Time) (n int, err error) {
	if n, recent := r.nodes.known(now); recent {
		return n, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	err = r.Live.List(ctx, list, client.Limit(1))
	switch more := list.RemainingItemCount; {
	case apierrors.IsForbidden(err):
		log.FromContext(ctx).Info("a job may avoid the last node, for the operator may not list nodes")
	case err != nil:
		return 0, fmt.Errorf("count the nodes, of which a job may avoid some: %w", err)
	case more != nil:
		n = len(list.Items) + int(*more)
	case list.Continue == "":
		n = len(list.Items)
	}
	r.nodes.set(n, now)
	return n, nil
}

// lookAtNode reads a node live. The node answers if it exists and is Ready, and nobody has declared it out of service. It is silent if Kubernetes
// does not know whether it is Ready. If the operator may not read nodes, it assumes that every node answers: waiting is safe, and two writers of one
// checkpoint are not.
func (r *Reconciler) lookAtNode(ctx context.Context, name string) (podstate.Node, error) {
	node := &corev1.Node{}
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsNotFound(err):
		return podstate.Node{}, nil
	case apierrors.IsForbidden(err):
		log.FromContext(ctx).Info("a pod hangs, and whether its node answers cannot be seen: the operator may not get nodes", "node", name)
		return podstate.Node{Answers: true, Forbidden: true}, nil
	case err != nil:
		return podstate.Node{}, fmt.Errorf("look whether node %s answers: %w", name, err)
	}
	return nodeOf(node), nil
}

// nodeOf returns what the kernel needs of a node.
func nodeOf(node *corev1.Node) (seen podstate.Node) {
	for _, c := range node.Status.Conditions {
		switch {
		case c.Type != corev1.NodeReady:
		case c.Status == corev1.ConditionUnknown:
			seen.SilentSince = c.LastTransitionTime.Time
		default:
			seen.Answers = c.Status == corev1.ConditionTrue
		}
	}
	for _, t := range node.Spec.Taints {
		seen.Answers = seen.Answers && t.Key != corev1.TaintNodeOutOfService
	}
	return seen
}
