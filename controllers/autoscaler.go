package controllers

import (
	"context"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// bringAutoscaler brings the job's HorizontalPodAutoscaler to what was compiled, nil for none. A finished job has none.
// One that has the job's name and is somebody else's is left alone.
func (r *Framework) bringAutoscaler(ctx context.Context, job client.Object, want *autoscalingv2.HorizontalPodAutoscalerSpec) error {
	if !r.Autoscales {
		return nil
	}
	if r.finished(job) {
		want = nil
	}
	have := &autoscalingv2.HorizontalPodAutoscaler{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(job), have)
	switch {
	case apierrors.IsNotFound(err):
		return r.createAutoscaler(ctx, job, want)
	case err != nil:
		return fmt.Errorf("read HorizontalPodAutoscaler %s/%s: %w", job.GetNamespace(), job.GetName(), err)
	case !metav1.IsControlledBy(have, job):
		return nil
	case want == nil:
		err = r.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID})
	case equality.Semantic.DeepDerivative(*want, have.Spec):
		return nil
	default:
		have = have.DeepCopy()
		have.Spec = *want
		err = r.Client.Update(ctx, have)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change HorizontalPodAutoscaler %s/%s: %w", have.Namespace, have.Name, err)
	}
	return nil
}

func (r *Framework) createAutoscaler(ctx context.Context, job client.Object, want *autoscalingv2.HorizontalPodAutoscalerSpec) error {
	if want == nil {
		return nil
	}
	current, err := isCurrent(ctx, r.Live, job, r.Kind)
	if err != nil || !current {
		return err // what it is not current with leads to the next pass
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.GetNamespace(), Name: job.GetName(),
			Labels:          map[string]string{v1beta1.LabelJobUID: string(job.GetUID())},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, r.Kind)},
		},
		Spec: *want,
	}
	what := fmt.Sprintf("create HorizontalPodAutoscaler %s/%s", hpa.Namespace, hpa.Name)
	err = creator{r.Client, r.Live, job}.create(ctx, what, hpa)
	var refusal *refused
	if errors.As(err, &refusal) { // the job itself trains without it
		emit(r.Recorder, job, []kernel.Event{{Warning: true, Reason: refusal.Reason, Message: what + ": " + refusal.Message}})
		return nil
	}
	return err
}
