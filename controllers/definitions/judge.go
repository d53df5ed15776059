package definitions

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/translators/definition"
)

// judgement is what a reconcile finds of a definition before the kind is served.
type judgement struct {
	*Reconciler
	kindFound
	// definition is what is judged. Its status tells of the judgement.
	definition *v1beta1.TrainingFramework
	// made is the CRD of the schema that the definition brings; nil if it brings none.
	made *apiextensionsv1.CustomResourceDefinition
	// mistakes are those of the definition.
	mistakes error
	// notServed stands in the way of serving the kind, and schemaRefused in that of the definition's own schema.
	notServed, schemaRefused whyNot
	// waitsForJobs says that jobs are in the schema's way.
	waitsForJobs bool
}

// kindFound is the kind as the cluster has it. It is empty if there is none.
type kindFound struct {
	resource schema.GroupVersionResource
	schemas  definition.Schemas
	crd      *apiextensionsv1.CustomResourceDefinition
	version  string // of the CRD
}

// whyNot is why a condition is False; it is True if the reason is "".
type whyNot struct{ reason, message string }

// judge checks a definition, and keeps it as a revision if it is accepted.
func (r *Reconciler) judge(ctx context.Context, d *v1beta1.TrainingFramework) (*judgement, error) {
	j := &judgement{Reconciler: r, definition: d}
	d.Status.ObservedGeneration = d.Generation
	if message, err := r.conflict(ctx, d); err != nil || message != "" {
		setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict, message)
		j.notServed = whyNot{v1beta1.ReasonKindConflict, message}
		return j, err
	}
	if err := j.lookUpKind(ctx); err != nil {
		return nil, err
	}
	if err := j.check(ctx); err != nil {
		return nil, err
	}
	if j.made != nil && j.mistakes == nil {
		if err := j.makeKind(ctx); err != nil {
			return nil, err
		}
	}
	if err := j.accept(ctx); err != nil {
		return nil, err
	}
	if j.notServed.reason == "" && len(d.Status.Revisions) == 0 {
		j.notServed = whyNot{v1beta1.ReasonNotAccepted, "The definition is not accepted: see the condition Accepted."}
	}
	return j, nil
}

// accept keeps a definition as a revision, or says why not.
func (j *judgement) accept(ctx context.Context) error {
	d := j.definition
	waitsForKind := j.notServed.reason != "" && d.Spec.Schema == nil
	switch {
	case j.mistakes != nil:
		message := j.mistakes.Error()
		if waitsForKind {
			message += "\nMore may be found when the kind is there. " + j.notServed.message
		}
		setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, message+meanwhile(d))
	case j.schemaRefused.reason != "":
		setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, j.schemaRefused.reason, j.schemaRefused.message+meanwhile(d))
	case waitsForKind:
		setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionUnknown, j.notServed.reason, "What can be checked without the kind is right. "+j.notServed.message)
	default:
		return j.keep(ctx, d)
	}
	return nil
}

// meanwhile returns what compiles jobs while the newest definition cannot.
func meanwhile(d *v1beta1.TrainingFramework) string {
	if len(d.Status.Revisions) == 0 {
		return ""
	}
	return "\nUntil this is mended, jobs are compiled by revision " + d.Status.Revisions[0].Name + "."
}

// keep makes the definition the newest revision.
func (r *Reconciler) keep(ctx context.Context, d *v1beta1.TrainingFramework) error {
	name := definition.RevisionOf(&d.Spec)
	list := slices.DeleteFunc(slices.Clone(d.Status.Revisions), func(one v1beta1.FrameworkRevision) bool { return one.Name == name })
	list = slices.Insert(list, 0, v1beta1.FrameworkRevision{Name: name, Spec: *d.Spec.DeepCopy()})
	if len(list) > maxRevisions {
		used, err := r.used(ctx, d)
		if err != nil {
			return err
		}
		oldest := len(list) - 1 // of those that no job needs; 0 is the new one
		for oldest > 0 && used[list[oldest].Name] {
			oldest--
		}
		if oldest == 0 {
			setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonTooManyRevisions,
				fmt.Sprintf("Unfinished jobs need each of the %d revisions that are kept: wait until those of one have ended.", maxRevisions)+meanwhile(d))
			return nil
		}
		list = slices.Delete(list, oldest, oldest+1)
	}
	d.Status.Revisions = list
	setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted, "Revision "+name+" compiles jobs that begin from now on.")
	return nil
}

// used returns the revisions of which there are unfinished jobs.
func (r *Reconciler) used(ctx context.Context, d *v1beta1.TrainingFramework) (map[string]bool, error) {
	jobs, used := &v1beta1.GenericJobList{}, map[string]bool{}
	if err := r.Client.List(compact.Unopened(ctx), jobs, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list GenericJobs: %w", err)
	}
	for i := range jobs.Items {
		owner := metav1.GetControllerOf(&jobs.Items[i])
		if owner != nil && owner.Kind == d.Spec.Kind.Kind && jobs.Items[i].Status.CompletionTime == nil {
			used[jobs.Items[i].Annotations[v1beta1.AnnotationFrameworkRevision]] = true
		}
	}
	return used, nil
}

// conflict returns who else serves the kind; "" if nobody does. Of two definitions only the older one may.
func (r *Reconciler) conflict(ctx context.Context, d *v1beta1.TrainingFramework) (string, error) {
	if slices.Contains(r.Taken, d.Spec.Kind.Kind) {
		return fmt.Sprintf("The operator serves a kind %s without a definition.", d.Spec.Kind.Kind), nil
	}
	all := &v1beta1.TrainingFrameworkList{}
	if err := r.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("list TrainingFrameworks: %w", err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.Name != d.Name && other.DeletionTimestamp == nil && other.Spec.Kind.Kind == d.Spec.Kind.Kind && older(other, d) {
			return fmt.Sprintf("TrainingFramework %s is older and defines a kind %s, of group %s%s. Delete one of the two.",
				other.Name, d.Spec.Kind.Kind, other.Spec.Kind.Group, whyNotAccepted(other)), nil
		}
	}
	return "", nil
}

// whyNotAccepted says of a definition that has never been accepted that it serves its kind no more than one that is younger.
func whyNotAccepted(d *v1beta1.TrainingFramework) string {
	accepted := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkAccepted)
	if accepted == nil || accepted.Status == metav1.ConditionTrue || len(d.Status.Revisions) > 0 {
		return ""
	}
	return ", though it is not accepted itself (" + accepted.Reason + ")"
}

func older(a, b *v1beta1.TrainingFramework) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.Name < b.Name
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}
