package jobs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// List returns all jobs of a namespace, or of all if that is "", whose labels match: each once, by namespace and name. A GenericJob that a
// training job owns is part of that one. Pods are not read.
func List(ctx context.Context, c client.Reader, namespace string, matching labels.Selector) ([]*Family, error) {
	all := &v1beta1.GenericJobList{}
	if err := c.List(ctx, all, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list GenericJobs: %w", err)
	}
	owned := map[types.UID]*v1beta1.GenericJob{}
	for i := range all.Items {
		if owner := OwnerOf(genericJobs(), &all.Items[i]); owner != nil {
			owned[owner.UID] = &all.Items[i]
		}
	}
	var out []*Family
	listed := map[schema.GroupVersionKind]bool{}
	for _, kind := range Kinds() {
		if kind.Framework == nil {
			continue
		}
		found, readable, err := listKind(ctx, c, namespace, matching, kind)
		if err != nil {
			return nil, err
		}
		listed[kind.GroupVersionKind] = readable
		for _, job := range found {
			out = append(out, NewFamily(kind, job, owned[job.GetUID()], nil))
		}
	}
	for i := range all.Items {
		if f := alone(&all.Items[i], listed); f != nil && matching.Matches(labels.Set(all.Items[i].Labels)) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *Family) int {
		return cmp.Or(cmp.Compare(a.Job.GetNamespace(), b.Job.GetNamespace()), cmp.Compare(a.Job.GetName(), b.Job.GetName()))
	})
	return out, nil
}

// listKind returns the jobs of a kind. The kind is not readable if the cluster does not have it, or the user may not read it.
func listKind(ctx context.Context, c client.Reader, namespace string, matching labels.Selector, kind *Kind) (found []client.Object, readable bool, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: matching})
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err), kind.IsKubeflow() && apierrors.IsForbidden(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("list %ss: %w", kind.Kind, err)
	}
	for i := range list.Items {
		job := kind.New()
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, job); err != nil {
			return nil, false, fmt.Errorf("read %s %s/%s: %w", kind.Kind, list.Items[i].GetNamespace(), list.Items[i].GetName(), err)
		}
		found = append(found, job)
	}
	return found, true, nil
}

// alone returns the family of a GenericJob that belongs to no job that was listed; nil if it does. What belongs to a job of another kind
// is called by that one.
func alone(job *v1beta1.GenericJob, listed map[schema.GroupVersionKind]bool) *Family {
	owner := OwnerOf(genericJobs(), job)
	if owner == nil {
		return NewFamily(genericJobs(), job, job, nil)
	}
	theirs := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	if listed[theirs] {
		return nil
	}
	kind := Defined(theirs)
	of := kind.New()
	of.SetNamespace(job.Namespace)
	of.SetName(owner.Name)
	of.SetUID(owner.UID)
	of.SetCreationTimestamp(job.CreationTimestamp)
	return NewFamily(kind, of, job, nil)
}
