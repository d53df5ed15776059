package training

import (
	"context"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/dependents"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/text"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// ensureData makes sure that the program's ConfigMap is there. The ConfigMap is immutable, and named after its content.
func (r *Reconciler) ensureData(ctx context.Context, job client.Object, data map[string]string) error {
	if len(data) == 0 {
		return nil
	}
	immutable := true
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.GetNamespace(), Name: framework.ConfigMapName(job.GetName(), data),
			Labels:          map[string]string{v1beta1.LabelJobUID: string(job.GetUID())},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, r.Kind)},
		},
		Data: data, Immutable: &immutable,
	}
	have := &corev1.ConfigMap{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(want), have)
	if err == nil && metav1.IsControlledBy(have, job) {
		return nil
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read ConfigMap %s/%s: %w", want.Namespace, want.Name, err)
	}
	owner := r.owner(job)
	owner.NameWasTaken = r.Memory.Of(job).nameWasTaken
	return owner.Create(ctx, fmt.Sprintf("create ConfigMap %s/%s", want.Namespace, want.Name), want)
}

// ensureAutoscaler brings the job's HorizontalPodAutoscaler to what was compiled; nil deletes it. A finished job has none. Kubernetes writes its
// status again and again, so a conflict is no error.
func (r *Reconciler) ensureAutoscaler(ctx context.Context, job client.Object, want *autoscalingv2.HorizontalPodAutoscalerSpec, out *showing) error {
	if !r.Autoscales {
		return nil
	}
	if r.finished(job) {
		want = nil
	}
	err := dependents.Autoscaler(ctx, r.owner(job), want)
	if apierrors.IsConflict(err) {
		r.Counts.CountStopped(r.Kind, metrics.ByConflict)
		out.requeueAfter = calls.Sooner(out.requeueAfter, calls.RetrySoon)
		return nil
	}
	return err
}

// ensureBoard brings the job's TensorBoard to what was compiled, and adds its state to what is shown.
func (r *Reconciler) ensureBoard(ctx context.Context, job client.Object, want *framework.TensorBoard, out *showing) error {
	if r.MirrorTensorBoard == nil {
		return nil
	}
	state, wake, err := dependents.TensorBoard(ctx, r.owner(job), want, r.finished(job), r.Clock.Now())
	if err != nil {
		return err
	}
	if state != nil {
		state.Note = text.Cut(state.Note, text.Max)
	}
	out.board = func(o client.Object) { r.MirrorTensorBoard(o, state) }
	out.requeueAfter = calls.Sooner(out.requeueAfter, wake)
	// In this reconcile the state tells what was just done. The next one does nothing, so it tells what is wrong.
	if state == nil || state.Type != corev1.EventTypeWarning || state.Action != tensorboard.ActionNone {
		return nil
	}
	after := job.DeepCopyObject().(client.Object)
	r.MirrorTensorBoard(after, state)
	if !equality.Semantic.DeepEqual(job, after) {
		out.events = append(out.events, kernel.Event{Warning: true, Reason: state.Reason, Message: "TensorBoard: " + state.Note})
	}
	return nil
}
