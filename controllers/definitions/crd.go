package definitions

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// lookUpKind looks the kind up in the cluster.
func (j *judgement) lookUpKind(ctx context.Context) error {
	of := &j.definition.Spec
	crd, err := j.crdOf(ctx, of.Kind)
	if err != nil {
		return err
	}
	if crd == nil {
		kind, way := definition.KindOf(of), "install its CRD"
		if of.Schema != nil {
			way = "the operator makes it when the definition is accepted"
		}
		j.notServed = whyNot{v1beta1.ReasonKindMissing, fmt.Sprintf("The cluster has no kind %s of %s: %s.", kind.Kind, kind.GroupVersion(), way)}
		return nil
	}
	j.crd = crd
	schemas, err := definition.SchemasOf(crd, of.Kind)
	if err != nil {
		j.notServed = whyNot{v1beta1.ReasonKindMissing, err.Error() + "."}
		return nil
	}
	j.schemas = schemas
	j.resource = schema.GroupVersionResource{Group: crd.Spec.Group, Version: of.Kind.Version, Resource: crd.Spec.Names.Plural}
	j.version = fmt.Sprintf("%s/%d", crd.UID, crd.Generation)
	return nil
}

// crdOf returns the CRD of a kind; nil if there is none that the cluster serves.
func (r *Reconciler) crdOf(ctx context.Context, kind v1beta1.FrameworkKind) (*apiextensionsv1.CustomResourceDefinition, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinitionList"))
	if err := r.Client.List(ctx, all); err != nil {
		return nil, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	var names []string
	for i := range all.Items {
		if _, group, _ := strings.Cut(all.Items[i].Name, "."); group == kind.Group {
			names = append(names, all.Items[i].Name)
		}
	}
	if i := slices.Index(names, definition.CRDName(kind.Kind, kind.Group)); i > 0 { // a group may have many, and each is large
		names[0], names[i] = names[i], names[0]
	}
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := r.Live.Get(ctx, client.ObjectKey{Name: name}, crd)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read CustomResourceDefinition %s: %w", name, err)
		}
		established := slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
			return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
		})
		if err == nil && established && crd.DeletionTimestamp == nil && crd.Spec.Names.Kind == kind.Kind {
			return crd, nil
		}
	}
	return nil, nil
}

// check looks for mistakes in a definition, and makes the CRD of one that brings its schema.
func (j *judgement) check(ctx context.Context) error {
	of := &j.definition.Spec
	if j.made, j.mistakes = definition.CRDFor(of); j.mistakes != nil {
		return nil
	}
	schemas := j.schemas
	if j.made != nil {
		if schemas, j.mistakes = definition.SchemasOf(j.made, of.Kind); j.mistakes != nil {
			return nil
		}
	}
	if j.mistakes = definition.Check(of, schemas); j.mistakes != nil || j.made == nil {
		return nil
	}
	return j.checkNarrower(ctx)
}

// checkNarrower looks for what a schema would take from jobs that there are. What no job uses may go, and a bound that all keep may come.
func (j *judgement) checkNarrower(ctx context.Context) error {
	if j.crd == nil || j.crd.Annotations[v1beta1.AnnotationSchema] == "" {
		return nil // it is not replaced, whatever it has
	}
	narrower := definition.Narrower(&j.definition.Spec, j.crd)
	if len(narrower) == 0 {
		return nil
	}
	why, err := j.unfit(ctx, definition.KindOf(&j.definition.Spec), j.made)
	if err != nil || why == "" {
		return err
	}
	j.waitsForJobs = true
	j.mistakes = fmt.Errorf("%w\n%s Take the edit back, or delete the job: the operator looks again every minute, and takes the edit once no job is in its way", narrower, why)
	return nil
}

// makeKind gives the cluster the CRD of an accepted definition. What it replaces must be one that the operator has made.
func (j *judgement) makeKind(ctx context.Context) error {
	made, have := j.made, j.crd
	if have == nil { // one that is not served yet, or of another kind, may have the name
		have = &apiextensionsv1.CustomResourceDefinition{}
		err := j.Live.Get(ctx, client.ObjectKeyFromObject(made), have)
		if apierrors.IsNotFound(err) {
			j.notServed.message = fmt.Sprintf("CustomResourceDefinition %s has just been made.", made.Name)
			return j.noteAnswer(j.Client.Create(ctx, made))
		}
		if err != nil {
			return fmt.Errorf("read CustomResourceDefinition %s: %w", made.Name, err)
		}
		j.notServed.message = whyNotServed(have)
	}
	hash := have.Annotations[v1beta1.AnnotationSchema]
	switch {
	case have.Spec.Names.Kind != made.Spec.Names.Kind: // names have no capital letters
		j.schemaRefused = whyNot{v1beta1.ReasonKindConflict,
			fmt.Sprintf("spec.kind: CustomResourceDefinition %s is there, of kind %s. Call the kind something else: another definition with another kind.", have.Name, have.Spec.Names.Kind)}
		return nil
	case hash == "" || have.Name != made.Name:
		j.schemaRefused = whyNot{v1beta1.ReasonKindConflict,
			fmt.Sprintf("spec.schema: CustomResourceDefinition %s is there, and the operator has not made it. Leave schema out to use it as it is, or delete it, which deletes its objects.", have.Name)}
		return nil
	case hash == made.Annotations[v1beta1.AnnotationSchema] || have.DeletionTimestamp != nil:
		return nil
	}
	next := have.DeepCopy()
	next.Annotations[v1beta1.AnnotationSchema] = made.Annotations[v1beta1.AnnotationSchema]
	next.Spec.Versions = made.Spec.Versions
	return j.noteAnswer(j.Client.Patch(ctx, next, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})))
}

const lacksSchemas = "The operator may not create and patch customresourcedefinitions. A cluster admin must apply the CRD of spec.schema, after each edit of that: " +
	"`kubectl gj translate -f FILE -o yaml` prints it of the definition. Or let the operator do it, which takes a right on all CRDs: the component deploy/framework-schemas, or frameworkSchemas of the chart."

// noteAnswer notes what the apiserver says of a CRD that was written. It returns an error that may pass.
func (j *judgement) noteAnswer(err error) error {
	switch {
	case apierrors.IsForbidden(err) && j.crd != nil: // the kind as it was is served
		j.schemaRefused = whyNot{v1beta1.ReasonRightsMissing, lacksSchemas + " The apiserver says: " + err.Error()}
	case apierrors.IsForbidden(err):
		j.notServed = whyNot{v1beta1.ReasonRightsMissing, lacksSchemas + " The apiserver says: " + err.Error()}
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err): // a webhook's refusal is often the second
		j.schemaRefused = whyNot{v1beta1.ReasonInvalidDefinition, "spec.schema: " + err.Error()}
	case err != nil:
		return fmt.Errorf("write the CustomResourceDefinition of a TrainingFramework: %w", err)
	}
	return nil
}

// whyNotServed returns what a CRD waits for.
func whyNotServed(crd *apiextensionsv1.CustomResourceDefinition) string {
	if crd.DeletionTimestamp != nil {
		return fmt.Sprintf("CustomResourceDefinition %s is being deleted.", crd.Name)
	}
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse {
			return fmt.Sprintf("CustomResourceDefinition %s is not served: %s.", crd.Name, c.Message)
		}
	}
	return fmt.Sprintf("CustomResourceDefinition %s is not served yet.", crd.Name)
}
