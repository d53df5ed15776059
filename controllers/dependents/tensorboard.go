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

// The operator does not watch the pods of TensorBoards: the cache would hold one more pod for each job, for ever. An event of the Deployment tells
// that the pod serves, or does no longer. While it does not, the operator lists the pods after lookAtBoard, and then less and less often. It stops
// when the Deployment has not changed for lastLook: the pod may wait for a volume that nobody ever creates. It tries again what the apiserver refuses
// after retryBoard, because nothing tells when the apiserver would accept it.
const (
	lookAtBoard = 15 * time.Second
	lastLook    = 10 * time.Minute
	retryBoard  = time.Minute
	// mostBoardPods is about how many pods of a TensorBoard are looked at.
	mostBoardPods = 20
)

// TensorBoard brings the TensorBoard of a job to what is wanted; nil deletes it. It returns the state of the TensorBoard, and when to look again. For
// a finished job it creates nothing. It keeps an existing TensorBoard, and still updates it after edits.
func TensorBoard(ctx context.Context, job calls.Owner, want *framework.TensorBoard, finished bool, now time.Time) (*v1beta1.DependentStatus, time.Duration, error) {
	b := &boardReconcile{Owner: job, finished: finished}
	if want == nil {
		wake, err := b.remove(ctx)
		return nil, wake, err
	}
	board, err := tensorboard.Build(job.Object, job.Kind, want)
	if err != nil {
		return tensorboard.Unreadable(job.Object, err), 0, nil
	}
	b.seen.Action = tensorboard.ActionNone
	err = b.bring(ctx, board)
	var refusal *calls.RefusalError
	switch {
	case errors.As(err, &refusal) && refusal.Reason == v1beta1.ReasonCreateInvalid:
		return board.Refused(refusal.Reason, refusal.Message), 0, nil
	case errors.As(err, &refusal):
		return board.Refused(refusal.Reason, refusal.Message), retryBoard, nil
	case err != nil:
		return nil, 0, err
	}
	wake := b.requeueAfter
	if wake == 0 && *board.Deployment.Spec.Replicas > 0 && b.seen.Deployment != nil && !tensorboard.Available(b.seen.Deployment) {
		wake = nextLook(b.seen.Deployment, now)
		if b.seen.Pods, err = b.pods(ctx); err != nil {
			return nil, 0, err
		}
	}
	return board.Status(b.seen), wake, nil
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
func (b *boardReconcile) bring(ctx context.Context, want tensorboard.Board) error {
	service, err := b.find(ctx, want.Service, &corev1.Service{})
	if err != nil {
		return err
	}
	if have, ok := service.(*corev1.Service); ok {
		want.ListenFor(have)
	}
	deployment, err := b.find(ctx, want.Deployment, &appsv1.Deployment{})
	if err != nil {
		return err
	}
	if have, ok := service.(*corev1.Service); ok {
		b.seen.Service = have
		if to := want.UpdatedService(have); to != nil {
			if err := b.update(ctx, have, to); err != nil {
				return err
			}
			b.seen.Service = to
		}
	}
	if have, ok := deployment.(*appsv1.Deployment); ok {
		b.seen.Deployment = have
		if b.seen.Service == nil {
			want.ListenAs(have)
		}
		if to := want.UpdatedDeployment(have); to != nil {
			if err := b.update(ctx, have, to); err != nil {
				return err
			}
			b.seen.Deployment = to
		}
	}
	return nil
}

// find returns the object of the name of want from the cache. If there is none it creates want. It returns nil if it must not create it.
func (b *boardReconcile) find(ctx context.Context, want, have client.Object) (client.Object, error) {
	err := b.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	switch {
	case err == nil && metav1.IsControlledBy(have, b.Object):
		return have, nil
	case err == nil:
		return nil, calls.Refuse(v1beta1.ReasonNameConflict, fmt.Sprintf("%s exists already", describe(want)))
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read %s: %w", describe(want), err)
	case b.finished:
		return nil, nil
	}
	// The fence: the job may have finished without the cache showing it yet.
	if current, err := b.fence(ctx); err != nil || !current {
		return nil, err
	}
	if err := b.Create(ctx, "create "+describe(want), want); err != nil {
		return nil, err
	}
	b.seen.Action = tensorboard.ActionCreate
	if want.GetUID() != "" {
		return want, nil
	}
	// It was there already, and the cache does not know it yet.
	if err := b.Live.Get(ctx, client.ObjectKeyFromObject(want), have); err != nil {
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

// fence reports whether the job is still the one that was read. It reads the job live once in a reconcile. If it is false, the write of the status
// that follows fails, too: the job has another resourceVersion.
func (b *boardReconcile) fence(ctx context.Context) (bool, error) {
	if b.current {
		return true, nil
	}
	var err error
	b.current, err = b.IsCurrent(ctx)
	if !b.current {
		b.requeueAfter = calls.RetrySoon
	}
	return b.current, err
}

// update writes an object, and fills in what the apiserver made of it. The state does not call a write an update that changed nothing: then somebody's
// webhook undoes each change.
func (b *boardReconcile) update(ctx context.Context, have, to client.Object) error {
	err := b.Client.Patch(ctx, to, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
	switch {
	case calls.Outdated(err):
		b.requeueAfter = calls.RetrySoon
		return nil
	case err != nil:
		return calls.Explain("update "+describe(have), err)
	}
	if to.GetResourceVersion() != have.GetResourceVersion() && b.seen.Action == tensorboard.ActionNone {
		b.seen.Action = tensorboard.ActionUpdate
	}
	return nil
}

// remove deletes the TensorBoard of a job that asks for none any more.
func (b *boardReconcile) remove(ctx context.Context) (time.Duration, error) {
	for _, have := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		key := client.ObjectKey{Namespace: b.Object.GetNamespace(), Name: tensorboard.Name(b.Object)}
		if err := b.Client.Get(ctx, key, have); apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return 0, fmt.Errorf("read %s %s: %w", kindOf(have), key, err)
		}
		if !metav1.IsControlledBy(have, b.Object) || have.GetDeletionTimestamp() != nil {
			continue
		}
		if current, err := b.fence(ctx); err != nil || !current {
			return b.requeueAfter, err
		}
		uid := have.GetUID()
		err := b.Client.Delete(ctx, have, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
		if client.IgnoreNotFound(err) != nil {
			return 0, fmt.Errorf("delete %s %s: %w", kindOf(have), key, err)
		}
	}
	return 0, nil
}

// pods returns the first pods of the job's TensorBoard. It has one, beside pods that end or were evicted. But anybody who may create pods can create
// more with its labels, of any size. So the number is bounded, and only their status is kept.
func (b *boardReconcile) pods(ctx context.Context) (seen []corev1.Pod, err error) {
	err = calls.Pages(ctx, b.Live, func() *corev1.PodList { return &corev1.PodList{} }, calls.PageOfWhole, func(pods *corev1.PodList) (enough bool) {
		for i := range pods.Items {
			pod := &pods.Items[i]
			seen = append(seen, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: pod.Name, CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp},
				Status:     pod.Status,
			})
		}
		return len(seen) >= mostBoardPods
	}, client.InNamespace(b.Object.GetNamespace()), client.MatchingLabels(tensorboard.Labels(b.Object)))
	if err != nil {
		return nil, fmt.Errorf("list pods of TensorBoard %s/%s: %w", b.Object.GetNamespace(), tensorboard.Name(b.Object), err)
	}
	return seen, nil
}
