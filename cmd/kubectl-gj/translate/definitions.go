package translate

import (
	"errors"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/translators/definition"
)

var (
	trainingFramework = v1beta1.GroupVersion.WithKind(v1beta1.KindTrainingFramework)
	crd               = apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
)

// define reads the TrainingFrameworks of a manifest, and says what is wrong with them. The kinds are those whose jobs they are about,
// nil where a mistake is in the way.
func define(documents []document) (made []Made, kinds map[schema.GroupVersionKind]*jobs.Kind) {
	kinds = map[schema.GroupVersionKind]*jobs.Kind{}
	for _, d := range documents {
		if d.kind != trainingFramework {
			continue
		}
		f := &v1beta1.TrainingFramework{}
		m := Made{Kind: &jobs.Kind{GroupVersionKind: trainingFramework}, Job: f}
		if m.Err = d.into(f); m.Err == nil {
			m.Err = m.define(f, documents, kinds)
		}
		made = append(made, m)
	}
	return made, kinds
}

// define adds the kind of a definition, if nothing is wrong with it.
func (m *Made) define(f *v1beta1.TrainingFramework, documents []document, kinds map[schema.GroupVersionKind]*jobs.Kind) error {
	kind := definition.KindOf(&f.Spec)
	kinds[kind] = nil
	own, err := definition.CRDFor(&f.Spec)
	if err != nil {
		return err
	}
	schemas, known, err := schemasFor(&f.Spec, own, documents)
	if err != nil {
		return err
	}
	if !known {
		m.Warnings = append(m.Warnings, "what expressions say of job.spec is not checked: give the CRD of "+kind.Kind+" by another -f")
	}
	if err := definition.Check(&f.Spec, schemas); err != nil {
		return err
	}
	d, err := definition.New(&f.Spec, schemas)
	if err != nil {
		return err
	}
	if own != nil {
		made, err := asApplied(own)
		if err != nil {
			return err
		}
		m.Objects = append(m.Objects, made)
	}
	registration := d.Registration()
	kinds[kind] = &jobs.Kind{GroupVersionKind: kind, Framework: &registration}
	return nil
}

// asApplied returns the CRD of a definition as an admin applies it where the operator may not: without a status.
func asApplied(own *apiextensionsv1.CustomResourceDefinition) (client.Object, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(own)
	if err != nil {
		return nil, err
	}
	made := &unstructured.Unstructured{Object: object}
	made.SetGroupVersionKind(crd)
	unstructured.RemoveNestedField(object, "status")
	return made, nil
}

// schemasFor returns the schemas of a kind's CRD: of the definition's own, or of one that is among the documents.
func schemasFor(spec *v1beta1.TrainingFrameworkSpec, own *apiextensionsv1.CustomResourceDefinition, documents []document) (s definition.Schemas, known bool, err error) {
	kind := spec.Kind
	if own != nil {
		s, err = definition.SchemasOf(own, kind)
		return s, true, err
	}
	for _, d := range documents {
		if d.kind != crd {
			continue
		}
		o := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(d.raw, o); err != nil {
			return s, false, err
		}
		if o.Spec.Group == kind.Group && o.Spec.Names.Kind == kind.Kind {
			s, err = definition.SchemasOf(o, kind)
			return s, true, err
		}
	}
	return s, false, nil
}

// into decodes a document. A field that the kind does not have is a mistake: the apiserver would drop it.
func (d document) into(o any) error {
	text, err := yaml.YAMLToJSONStrict(d.raw)
	if err != nil {
		return err
	}
	mistakes, err := json.UnmarshalStrict(text, o)
	return errors.Join(append(mistakes, err)...)
}
