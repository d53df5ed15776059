package played

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Collect plays the garbage collector until the context ends: each second it deletes what belongs to an object of these kinds that is gone.
func Collect(ctx context.Context, c client.Client, namespace string, kinds []schema.GroupVersionKind) {
	for ctx.Err() == nil {
		alive := map[types.UID]bool{}
		var all []metav1.PartialObjectMetadata
		for _, kind := range kinds {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
			_ = c.List(ctx, list, client.InNamespace(namespace)) // who is not seen is looked for again, before anything is deleted
			for i := range list.Items {
				list.Items[i].SetGroupVersionKind(kind)
				alive[list.Items[i].UID] = true
			}
			all = append(all, list.Items...)
		}
		for i := range all {
			owner := metav1.GetControllerOf(&all[i])
			if owner != nil && !alive[owner.UID] && all[i].DeletionTimestamp == nil && slices.Contains(kinds, kindOf(owner)) {
				discard(ctx, c, &all[i], owner)
			}
		}
		wait(ctx, time.Second)
	}
}

func kindOf(owner *metav1.OwnerReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
}

// discard deletes an object whose owner is gone. As the real collector does, it looks again at both, and deletes nothing that has changed since.
func discard(ctx context.Context, c client.Client, o *metav1.PartialObjectMetadata, owner *metav1.OwnerReference) {
	have := &metav1.PartialObjectMetadata{}
	have.SetGroupVersionKind(kindOf(owner))
	err := c.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: owner.Name}, have)
	if apierrors.IsNotFound(err) || err == nil && have.UID != owner.UID {
		only := client.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion}
		_ = c.Delete(ctx, o, only, client.PropagationPolicy(metav1.DeletePropagationBackground)) // a conflict: the next round looks again
	}
}
