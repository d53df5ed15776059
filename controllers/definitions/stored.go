package definitions

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/genericjob/genericjob/controllers/calls"
)

// What is looked at before a kind lets in less than it did. A page of the largest jobs is some 100 MB in memory.
const (
	maxStored  = 5000
	storedPage = 2 * calls.PageOfWhole
)

// unfit returns why a kind may not become narrower: which job that there is would not fit it. "" if all do. A job that is created in the same
// second is not seen.
func (r *Reconciler) unfit(ctx context.Context, kind schema.GroupVersionKind, made *apiextensionsv1.CustomResourceDefinition) (why string, err error) {
	fits, err := newFitting(made)
	if err != nil {
		return err.Error() + ".", nil
	}
	blank := func() *unstructured.UnstructuredList {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		return list
	}
	seen := 0
	err = calls.Pages(ctx, r.Live, blank, storedPage, func(page *unstructured.UnstructuredList) (enough bool) {
		if seen += len(page.Items); seen > maxStored {
			why = fmt.Sprintf("There are more than %d jobs of the kind, which are too many to be looked at: delete those that have finished.", maxStored)
		}
		for i := 0; i < len(page.Items) && why == ""; i++ {
			why = fits.why(ctx, &page.Items[i])
		}
		return why != ""
	})
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("The operator may not list the jobs of kind %s, to see whether any of them is in the way.", kind.Kind), nil
	case err != nil:
		return "", fmt.Errorf("list the jobs of kind %s: %w", kind.Kind, err)
	default:
		return why, nil
	}
}

// fitting checks objects as the apiserver would with the CRD.
type fitting struct {
	structural *structuralschema.Structural
	types      validation.SchemaValidator
	rules      *cel.Validator
}

func newFitting(made *apiextensionsv1.CustomResourceDefinition) (*fitting, error) {
	of := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(made.Spec.Versions[0].Schema.OpenAPIV3Schema, of, nil); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(of)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	types, _, err := validation.NewSchemaValidator(of)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	return &fitting{structural: structural, types: types, rules: cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
}

// why returns what of a job does not fit; "" if all does. The operator writes the status anew, so only the spec counts.
func (f *fitting) why(ctx context.Context, job *unstructured.Unstructured) string {
	name := fmt.Sprintf("%s %s/%s is in the way: ", job.GetKind(), job.GetNamespace(), job.GetName())
	delete(job.Object, "status") // rules are asked only where all types are right
	mistakes := validation.ValidateCustomResource(nil, job.Object, f.types)
	mistakes = append(mistakes, listtype.ValidateListSetsAndMaps(nil, f.structural, job.Object)...)
	if f.rules != nil && len(mistakes) == 0 {
		mistakes, _ = f.rules.Validate(ctx, nil, f.structural, job.Object, nil, celconfig.RuntimeCELCostBudget)
	}
	for _, m := range mistakes {
		if ofSpec(m.Field) {
			return name + short(m) + "."
		}
	}
	lost := pruning.PruneWithOptions(job.Object, f.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range lost {
		if ofSpec(path) {
			return name + "it has " + path + "."
		}
	}
	return ""
}

func ofSpec(path string) bool {
	return path == "spec" || strings.HasPrefix(path, "spec.") || strings.HasPrefix(path, "spec[")
}

// short returns a mistake without the value, which may be as long as its author wants.
func short(m *field.Error) string {
	if m.Type == field.ErrorTypeRequired {
		return m.Field + " is missing"
	}
	return m.Field + ": " + m.Detail
}
