package dependents

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// The operator does not watch the pods of TensorBoards: the cache would hold one more pod for each job, for ever. An event of the Deployment tells that
// the pod serves, or does no longer. While it does not, the operator lists the pods after lookAtBoard, and then less and less often. It stops when the
// Deployment has not changed for lastLook: the pod may wait for a volume that nobody ever creates. It tries again what the apiserver refuses after
// retryBoard, because nothing tells when the apiserver would accept it.
const (
	lookAtBoard = 15 * time.Second
	lastLook    = 10 * time.Minute
	retryBoard  = time.Minute
	// mostBoardPods is about how many pods of a TensorBoard are looked at.
	mostBoardPods = 20
)

// TensorBoard brings the TensorBoard of a job to what is wanted; nil deletes it. It returns the state of the TensorBoard, and when to look again. For a
// finished job it creates nothing. It keeps an existing TensorBoard, and still updates it after edits.
func TensorBoard(ctx context.Context, job calls.Owner, want *framework.TensorBoard, finished bool, now time.Time) (*v1beta1.DependentStatus, time.Duration, error) {
	p := &boardReconcile{Owner: job, finished: finished}
	if want == nil {
		wake, err := p.remove(ctx)
		return nil, wake, err
	}
	board, err := tensorboard.Build(job.Object, job.Kind, want)
	if err != nil {
		return tensorboard.Unreadable(job.Object, err), 0, nil
	}
	p.seen.Action = tensorboard.ActionNone
	err = p.bring(ctx, board)
	var refusal *calls.RefusalError
	switch {
	case errors.As(err, &refusal) && refusal.Reason == v1beta1.ReasonCreateInvalid:
		return board.Refused(refusal.Reason, refusal.Message), 0, nil
	case errors.As(err, &refusal):
		return board.Refused(refusal.Reason, refusal.Message), retryBoard, nil
	case err != nil:
		return nil, 0, err
	}
	wake := p.requeueAfter
	if wake == 0 && *board.Deployment.Spec.Replicas > 0 && p.seen.Deployment != nil && !tensorboard.Available(p.seen.Deployment) {
		wake = nextLook(p.seen.Deployment, now)
		if p.seen.Pods, err = p.pods(ctx); err != nil {
			return nil, 0, err
		}
	}
	return board.Status(p.seen), wake, nil
}

// nextLook returns when to look again at the pods of a Deployment that does not serve; 0 to wait for an event.
func nextLook(d *appsv1.Deployment, now time.Time) time.Duration {
	changed := d.CreationTimestamp.Time
	for _, c := range d.Status.Conditions {
		if c.LastUpdateTime.After(changed) {
			changed = c.LastUpdateTime.Time
		}
	}
	quiet := now.Sub(changed)
	if quiet >= lastLook {
		return 0
	}
	return max(quiet, lookAtBoard)
}

// boardReconcile is one reconcile of the TensorBoard of one job.
type boardReconcile struct {
	calls.Owner
	finished     bool
	current      bool // the job was read live, and has not changed
	seen         tensorboard.Seen
	requeueAfter time.Duration
}

// bring creates what is missing and updates what is different.
func (p *boardReconcile) bring(ctx context.Context, want tensorboard.Board) error {
	service, err := p.find(ctx, want.Service, &corev1.Service{})
	if err != nil {
		return err
	}
	if have, ok := service.(*corev1.Service); ok {
		want.ListenFor(have)
	}
	deployment, err := p.find(ctx, want.Deployment, &appsv1.Deployment{})
	if err != nil {
		return err
	}
	if have, ok := service.(*corev1.Service); ok {
		p.seen.Service = have
		if to := want.UpdatedService(have); to != nil {
			if err := p.update(ctx, have, to); err != nil {
				return err
			}
			p.seen.Service = to
		}
	}
	if have, ok := deployment.(*appsv1.Deployment); ok {
		p.seen.Deployment = have
		if p.seen.Service == nil {
			want.ListenAs(have)
		}
		if to := want.UpdatedDeployment(have); to != nil {
			if err := p.update(ctx, have, to); err != nil {
				return err
			}
			p.seen.Deployment = to
		}
	}
	return nil
}

// find returns the object of the name of want from the cache. If there is none it creates want. It returns nil if it must not create it.
func (p *boardReconcile) find(ctx context.Context, want, have client.Object) (client.Object, error) {
	err := p.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case err == nil && metav1.IsControlledBy(have, p.Object):
		return have, nil
	case err == nil:
		return nil, calls.Refuse(v1beta1.ReasonNameConflict, fmt.Sprintf("%s exists already", describe(want)))
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read %s: %w", describe(want), err)
	case p.finished:
		return nil, nil
	}
	// The fence: the job may have finished without the cache showing it yet.
	if current, err := p.fence(ctx); err != nil || !current {
		return nil, err
	}
	if err := p.Create(ctx, "create "+describe(want), want); err != nil {
		return nil, err
	}
	p.seen.Action = tensorboard.ActionCreate
	if want.GetUID() != "" {
		return want, nil
	}
	// It was there already, and the cache does not know it yet.
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return have, nil
}

func describe(o client.Object) string {
	return fmt.Sprintf("%s %s/%s", kindOf(o), o.GetNamespace(), o.GetName())
}

// kindOf returns the kind of a part of a TensorBoard, for users. What a cache or the apiserver returns does not say its kind.
func kindOf(o client.Object) string {
	if _, ok := o.(*corev1.Service); ok {
		return "Service"
	}
	return "Deployment"
}

// fence reports whether the job is still the one that was read. It reads the job live once in a reconcile. If it is false, the write of the status that
// follows fails, too: the job has another resourceVersion.
func (p *boardReconcile) fence(ctx context.Context) (bool, error) {
	if p.current {
		return true, nil
	}
	var err error
	p.current, err = p.IsCurrent(ctx)
	if !p.current {
		p.requeueAfter = calls.RetrySoon
	}
	return p.current, err
}

// update writes an object, and fills in what the apiserver made of it. The state does not call a write an update that changed nothing: then somebody's
// webhook undoes each change.
func (p *boardReconcile) update(ctx context.Context, have, to client.Object) error {
	err := p.Client.Patch(ctx, to, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
	switch {
	case calls.Outdated(err):
		p.requeueAfter = calls.RetrySoon
		return nil
	case err != nil:
		return calls.Explain("update "+describe(have), err)
	}
	if to.GetResourceVersion() != have.GetResourceVersion() && p.seen.Action == tensorboard.ActionNone {
		p.seen.Action = tensorboard.ActionUpdate
	}
	return nil
}

// remove deletes the TensorBoard of a job that asks for none any more.
func (p *boardReconcile) remove(ctx context.Context) (time.Duration, error) {
	for _, have := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		key := client.ObjectKey{Namespace: p.Object.GetNamespace(), Name: tensorboard.Name(p.Object)}
		if err := p.Client.Get(ctx, key, have); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("read %s %s: %w", kindOf(have), key, err)
		}
		if !metav1.IsControlledBy(have, p.Object) || have.GetDeletionTimestamp() != nil {
			continue
		}
		if current, err := p.fence(ctx); err != nil || !current {
			return p.requeueAfter, err
		}
		uid := have.GetUID()
		err := p.Client.Delete(ctx, have, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete %s %s: %w", kindOf(have), key, err)
		}
	}
	return 0, nil
}

// pods returns the first pods of the job's TensorBoard. It has one, beside pods that end or were evicted. But anybody who may create pods can create more
// with its labels, of any size. So the number is bounded, and only their status is kept.
func (p *boardReconcile) pods(ctx context.Context) (seen []corev1.Pod, err error) {
	err = calls.Pages(ctx, p.Live, func() *corev1.PodList { return &corev1.PodList{} }, calls.Few, func(pods *corev1.PodList) (enough bool) {
		for i := range pods.Items {
			pod := &pods.Items[i]
			seen = append(seen, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp},
				Status:     pod.Status,
			})
		}
		return len(seen) >= mostBoardPods
	}, client.InNamespace(p.Object.GetNamespace()), client.MatchingLabels(tensorboard.Labels(p.Object)))
	if err != nil {
		return nil, fmt.Errorf("list pods of TensorBoard %s/%s: %w", p.Object.GetNamespace(), tensorboard.Name(p.Object), err)
	}
	return seen, nil
}
