package dependents

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
)

// annotationAutoscaler holds a hash of the spec that was wanted. It shows that a part is wanted no more, such as a metric. The stored spec does not
// show that, for the apiserver and webhooks add parts of their own.
const annotationAutoscaler = "batch.tensorstack.dev/autoscaler-hash"

// Autoscaler brings a job's HorizontalPodAutoscaler to what is wanted; nil deletes it. An autoscaler of the job's name that somebody else owns is left
// alone, and the job trains without one.
func Autoscaler(ctx context.Context, job calls.Owner, want *autoscalingv2.HorizontalPodAutoscalerSpec) error {
	have := &autoscalingv2.HorizontalPodAutoscaler{}
	key := client.ObjectKeyFromObject(job.Object)
	err := job.Client.Get(ctx, key, have)
	switch {
	case apierrors.IsNotFound(err) && want != nil:
		return createAutoscaler(ctx, job, *want)
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("read HorizontalPodAutoscaler %s: %w", key, err)
	case err != nil || !metav1.IsControlledBy(have, job.Object):
		return nil
	case want == nil:
		err = job.Client.Delete(ctx, have, client.Preconditions{UID: &have.UID})
	case have.Annotations[annotationAutoscaler] == hashOf(*want) && equality.Semantic.DeepDerivative(*want, have.Spec):
		return nil
	default:
		have = have.DeepCopy()
		have.Spec = *want
		metav1.SetMetaDataAnnotation(&have.ObjectMeta, annotationAutoscaler, hashOf(*want))
		err = job.Client.Update(ctx, have)
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("change HorizontalPodAutoscaler %s: %w", key, err)
	}
	return nil
}

func createAutoscaler(ctx context.Context, job calls.Owner, want autoscalingv2.HorizontalPodAutoscalerSpec) error {
	current, err := job.IsCurrent(ctx)
	if err != nil || !current {
		return err // the cache will show the newer job, which leads to the next reconcile
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Object.GetNamespace(), Name: job.Object.GetName(),
			Labels:          map[string]string{v1beta1.LabelJobUID: string(job.Object.GetUID())},
			Annotations:     map[string]string{annotationAutoscaler: hashOf(want)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job.Object, job.Kind)},
		},
		Spec: want,
	}
	what := fmt.Sprintf("create HorizontalPodAutoscaler %s/%s", hpa.Namespace, hpa.Name)
	err = job.Create(ctx, what, hpa)
	var refusal *calls.RefusalError
	if errors.As(err, &refusal) {
		return calls.Refuse(refusal.Reason, what+": "+refusal.Message)
	}
	return err
}

func hashOf(spec autoscalingv2.HorizontalPodAutoscalerSpec) string {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it is made of plain types
	}
	return fmt.Sprintf("%x", sha256.Sum256(raw))[:16]
}
