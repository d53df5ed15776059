package jobs

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
)

// Find finds a job of a namespace. A GenericJob that a training job owns leads to that one: it is what may be edited.
func Find(ctx context.Context, c client.Reader, namespace string, name Name) (*Family, error) {
	if name.Kind == nil {
		return findAny(ctx, c, namespace, name.Name)
	}
	kind := name.Kind
	job, err := get(ctx, c, namespace, name.Name, kind)
	if err != nil {
		return nil, err
	}
	return led(ctx, c, kind, job)
}

// led returns the family of a job, or of the training job that owns it. An owner is passed over that is gone, whose kind is gone, or that the user may
// not read.
func led(ctx context.Context, c client.Reader, kind *Kind, job client.Object) (*Family, error) {
	owner := OwnerOf(kind, job)
	if owner == nil {
		return family(ctx, c, kind, job)
	}
	theirs := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	its := ByKind(theirs)
	known := its != nil
	if !known {
		its = Defined(theirs)
	}
	of, err := get(ctx, c, job.GetNamespace(), owner.Name, its)
	switch {
	case err == nil && of.GetUID() == owner.UID:
		return family(ctx, c, its, of)
	case known && err != nil && !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err):
		return nil, err
	default:
		return family(ctx, c, kind, job)
	}
}

// findAny finds the job of a name, of whatever kind.
func findAny(ctx context.Context, c client.Reader, namespace, name string) (*Family, error) {
	var found []*Kind
	var job client.Object
	for _, kind := range Kinds() {
		have, err := get(ctx, c, namespace, name, kind)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			continue
		case kind.IsKubeflow() && apierrors.IsForbidden(err):
			continue // a user who may see our kinds alone
		case err != nil:
			return nil, err
		case OwnerOf(kind, have) != nil && len(found) > 0:
			continue // it belongs to what was found before
		}
		found, job = append(found, kind), have
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("namespace %q has no job %q: neither a GenericJob nor a PyTorchTrainingJob, a TensorFlowTrainingJob or one of Kubeflow's kinds; of another kind say KIND/%s", namespace, name, name)
	case 1:
		return led(ctx, c, found[0], job)
	default:
		var all []string
		for _, kind := range found {
			all = append(all, kind.Short()+"/"+name)
		}
		return nil, exit.Usagef("%q is the name of several jobs: say %s", name, strings.Join(all, " or "))
	}
}

func get(ctx context.Context, c client.Reader, namespace, name string, kind *Kind) (client.Object, error) {
	job := kind.New()
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, job); err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", kind.Kind, namespace, name, err)
	}
	return job, nil
}

// OwnerOf returns the training job that a GenericJob was compiled from; nil if there is none. Anything else may control a job, too, such as a workflow
// of which the job is a step. By that nobody edits the job, so it is passed over.
func OwnerOf(kind *Kind, job metav1.Object) *metav1.OwnerReference {
	if _, compiled := job.GetAnnotations()[v1beta1.AnnotationCompiledGeneration]; kind.Framework != nil || !compiled {
		return nil
	}
	return metav1.GetControllerOf(job)
}

// Reread reads a family anew.
func (f *Family) Reread(ctx context.Context, c client.Reader) (*Family, error) {
	job, err := get(ctx, c, f.Job.GetNamespace(), f.Job.GetName(), f.Kind)
	if err != nil {
		return nil, err
	}
	if job.GetUID() != f.Job.GetUID() {
		return nil, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s %s/%s was deleted, and created again", f.Kind.Kind, job.GetNamespace(), job.GetName())}
	}
	return family(ctx, c, f.Kind, job)
}

// family reads what belongs to a job.
func family(ctx context.Context, c client.Reader, kind *Kind, job client.Object) (*Family, error) {
	gj, ok := job.(*v1beta1.GenericJob)
	if !ok {
		gj = &v1beta1.GenericJob{}
		err := c.Get(ctx, client.ObjectKeyFromObject(job), gj)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read GenericJob %s/%s: %w", job.GetNamespace(), job.GetName(), err)
		}
		if err != nil || !metav1.IsControlledBy(gj, job) {
			return NewFamily(kind, job, nil, nil), nil
		}
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(gj.Namespace), client.MatchingLabels{v1beta1.LabelJobUID: string(gj.UID)}); err != nil {
		return nil, fmt.Errorf("list the pods of GenericJob %s/%s: %w", gj.Namespace, gj.Name, err)
	}
	return NewFamily(kind, job, gj, pods.Items), nil
}
