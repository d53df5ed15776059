package jobs

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/spec"
)

// readKueue reads live what Kueue has of a job; nothing for a job without a Kueue queue. An operator that serves only some namespaces may lack the
// right to read objects without a namespace.
func (r *Reconciler) readKueue(ctx context.Context, job *v1beta1.GenericJob) (kernel.Kueue, error) {
	in := spec.Kueue(job)
	if in == nil && job.Status.Queue == nil {
		return kernel.Kueue{}, nil
	}
	seen, err := r.lookAtKueue(ctx, job, in)
	if apierrors.IsForbidden(err) {
		seen.Forbidden, err = err.Error(), nil
	}
	return seen, err
}

func (r *Reconciler) lookAtKueue(ctx context.Context, job *v1beta1.GenericJob, in *v1beta1.KueueScheduler) (seen kernel.Kueue, err error) {
	w := kueue.Key(job)
	err = r.Client.Get(ctx, client.ObjectKeyFromObject(w), w)
	switch {
	case meta.IsNoMatchError(err):
		seen.Missing = fmt.Sprintf("%s of %s", w.GetKind(), w.GetAPIVersion())
		return seen, nil
	case client.IgnoreNotFound(err) != nil:
		return seen, fmt.Errorf("read the Workload of GenericJob %s/%s: %w", job.Namespace, job.Name, err)
	case err == nil && metav1.IsControlledBy(w, job):
		seen.Workload = w
	}
	r.workloads.Watch(ctx)
	if seen.Workload != nil {
		return seen, r.readFlavors(ctx, &seen)
	}
	if in == nil || in.PriorityClass == "" {
		return seen, nil
	}
	seen.Priority, err = r.priorityOf(ctx, in.PriorityClass) // a new Workload needs its value
	return seen, err
}

// priorityOf returns the value of a WorkloadPriorityClass; nil if there is none of that name.
func (r *Reconciler) priorityOf(ctx context.Context, name string) (*int32, error) {
	class, err := r.ofKueue(ctx, "WorkloadPriorityClass", name)
	if err != nil || class == nil {
		return nil, err
	}
	value, _, _ := unstructured.NestedInt64(class.Object, "value")
	return new(int32(value)), nil
}

// readFlavors reads the resource flavors in which a Workload was admitted. One that somebody has deleted, or that the operator may not read, is left
// out. That is no error here: the kernel decides what follows from it, and still records ends and cleans up.
func (r *Reconciler) readFlavors(ctx context.Context, seen *kernel.Kueue) error {
	s := kueue.Read(seen.Workload)
	if !s.Admitted {
		return nil
	}
	seen.Flavors = map[string]*unstructured.Unstructured{}
	for _, names := range s.Flavors {
		for _, name := range names {
			if seen.Flavors[name] != nil {
				continue
			}
			flavor, err := r.ofKueue(ctx, "ResourceFlavor", name)
			switch {
			case apierrors.IsForbidden(err):
				seen.FlavorForbidden = err.Error()
			case err != nil:
				return err
			case flavor != nil:
				seen.Flavors[name] = flavor
			}
		}
	}
	return nil
}

// ofKueue reads an object of Kueue without a namespace; nil if it does not exist.
func (r *Reconciler) ofKueue(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.FromAPIVersionAndKind(kueue.Version, kind))
	err := r.Client.Get(ctx, client.ObjectKey{Name: name}, o)
	switch {
	case err == nil:
		return o, nil
	case client.IgnoreNotFound(err) == nil, meta.IsNoMatchError(err):
		return nil, nil
	default:
		return nil, fmt.Errorf("read %s %s: %w", kind, name, err)
	}
}
