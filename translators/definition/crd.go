package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/deploy/crd"
)

// CRDFor is the CRD of a definition that brings the schema of its kind; nil if it brings none. Have is what the kind is now, nil if it is
// not: no field of it may go. The error are MistakesError.
func CRDFor(spec *v1beta1.TrainingFrameworkSpec, have *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	if spec.Schema == nil {
		return nil, nil
	}
	own := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict(spec.Schema.Raw, own); err != nil {
		return nil, MistakesError{{"spec.schema", err.Error()}}
	}
	known, err := sharedTypes()
	if err != nil {
		return nil, MistakesError{{"spec.schema", err.Error()}}
	}
	r := &schemaReader{types: known.named}
	if own.Type != "object" {
		r.wrong("spec.schema.type", "is %q: a spec is an object", own.Type)
	}
	if have != nil {
		if before, err := SchemasOf(have, spec.Kind); err == nil {
			r.keeps("spec.schema", before.Spec, own)
		}
	}
	r.resolve("spec.schema", own)
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return crdOf(spec.Kind, own, known)
}

// crdOf is the CRD of a kind of training jobs.
func crdOf(kind v1beta1.FrameworkKind, spec *apiextensionsv1.JSONSchemaProps, known *shared) (*apiextensionsv1.CustomResourceDefinition, error) {
	lower := strings.ToLower(kind.Kind)
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: lower + "s." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: lower + "s", Singular: lower, Categories: []string{"all"},
			},
			Scope: apiextensionsv1.NamespaceScoped,
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				AdditionalPrinterColumns: known.columns,
				Subresources:             &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:         "object",
					Required:     []string{"spec"},
					XValidations: apiextensionsv1.ValidationRules{nameRule},
					Properties: map[string]apiextensionsv1.JSONSchemaProps{
						"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"},
						"spec": *spec, "status": known.status,
					},
				}},
			}},
		},
	}
	text, err := json.Marshal(out.Spec)
	if err != nil {
		return nil, MistakesError{{"spec.schema", err.Error()}}
	}
	out.Annotations = map[string]string{v1beta1.AnnotationSchema: v1beta1.Hash5("schema", string(text)) + v1beta1.Hash5(string(text), "schema")}
	return out, nil
}

var nameRule = apiextensionsv1.ValidationRule{
	Rule:    "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
	Message: "metadata.name must be a DNS label that begins with a letter: the Service and the pods' host names are made of it",
}

// shared is what kinds of training jobs have in common.
type shared struct {
	named   map[string]apiextensionsv1.JSONSchemaProps // by the name of the type
	status  apiextensionsv1.JSONSchemaProps
	columns []apiextensionsv1.CustomResourceColumnDefinition
}

// sharedTypes reads them from a kind that has them all. Nobody keeps them: they are some megabytes, and seldom needed.
func sharedTypes() (*shared, error) {
	of := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.TensorFlowTrainingJobs(), of); err != nil {
		return nil, fmt.Errorf("read the types of training jobs: %w", err)
	}
	version := of.Spec.Versions[0]
	root := version.Schema.OpenAPIV3Schema
	spec := root.Properties["spec"]
	return &shared{
		named: map[string]apiextensionsv1.JSONSchemaProps{
			"PodTemplateSpec": spec.Properties["replicaSpecs"].Items.Schema.Properties["template"],
			"RunMode":         spec.Properties["runMode"],
			"RunPolicy":       spec.Properties["runPolicy"],
			"SchedulePolicy":  spec.Properties["scheduler"],
		},
		status: root.Properties["status"], columns: version.AdditionalPrinterColumns,
	}, nil
}

// schemaReader reads the schema of a definition.
type schemaReader struct {
	types    map[string]apiextensionsv1.JSONSchemaProps
	mistakes MistakesError
}

func (r *schemaReader) wrong(path, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{path, fmt.Sprintf(format, args...)})
}

// resolve puts types in the place of their names.
func (r *schemaReader) resolve(path string, s *apiextensionsv1.JSONSchemaProps) {
	if s.Ref != nil {
		known, is := r.types[*s.Ref]
		if !is {
			r.wrong(path+".$ref", "is %q: %s are known", *s.Ref, strings.Join(slices.Sorted(maps.Keys(r.types)), ", "))
			return
		}
		said := s.Description
		if *s = *known.DeepCopy(); said != "" {
			s.Description = said
		}
		return
	}
	if s.Default != nil {
		r.wrong(path+".default", "is not allowed, for a change of it would change jobs that have begun: write job.spec.?name.orValue(...) in the expressions")
	}
	inside(path, s, r.resolve)
}

// inside calls f for what a schema consists of, in order.
func inside(path string, s *apiextensionsv1.JSONSchemaProps, f func(string, *apiextensionsv1.JSONSchemaProps)) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		inner := s.Properties[name]
		f(path+".properties."+name, &inner)
		s.Properties[name] = inner
	}
	if items := itemsOf(s); items != nil {
		f(path+".items", items)
	}
	if values := valuesOf(s); values != nil {
		f(path+".additionalProperties", values)
	}
}

// keeps notes fields that jobs may have, and that a new schema would take from them: the apiserver shows none that it does not know.
func (r *schemaReader) keeps(path string, have, want *apiextensionsv1.JSONSchemaProps) {
	if have == nil || want.Ref != nil && have.Type == "object" || ptr.Deref(want.XPreserveUnknownFields, false) {
		return // a type of ours grows only
	}
	switch {
	case have.Type != want.Type:
		r.wrong(path+".type", "is %q, but jobs that there are may have it as %q", want.Type, have.Type)
		return
	case ptr.Deref(have.XPreserveUnknownFields, false), valuesOf(have) != nil && valuesOf(want) == nil:
		r.wrong(path, "lets in less than before, but jobs that there are may have any field there")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(have.Properties)) {
		now := property(want, name)
		if now == nil {
			r.wrong(path+".properties."+name, "is taken away, but jobs that there are may have it")
			continue
		}
		r.keeps(path+".properties."+name, property(have, name), now)
	}
	if now := itemsOf(want); now != nil {
		r.keeps(path+".items", itemsOf(have), now)
	}
	if now := valuesOf(want); now != nil {
		r.keeps(path+".additionalProperties", valuesOf(have), now)
	}
}

func itemsOf(list *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if list.Items == nil {
		return nil
	}
	return list.Items.Schema
}

func valuesOf(object *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if object.AdditionalProperties == nil {
		return nil
	}
	return object.AdditionalProperties.Schema
}
