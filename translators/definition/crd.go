package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/deploy/crd"
)

// CRDFor returns the CRD of a definition that brings the schema of its kind; nil if it brings none. The error is a MistakesError.
func CRDFor(spec *v1beta1.TrainingFrameworkSpec) (*apiextensionsv1.CustomResourceDefinition, error) {
	if spec.Schema == nil {
		return nil, nil
	}
	if len(spec.Schema.Raw) > maxSize {
		return nil, MistakesError{{"spec.schema", fmt.Sprintf("is %d bytes of JSON: %d are allowed", len(spec.Schema.Raw), maxSize)}}
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
	switch {
	case own.Ref != nil:
		r.wrong("spec.schema.$ref", "is %q: a spec is an object with fields of its own, of which one may be a %s", *own.Ref, *own.Ref)
	case own.Type != "object":
		r.wrong("spec.schema.type", "is %q: a spec is an object", own.Type)
	}
	r.resolve("spec.schema", own)
	if len(r.mistakes) > 0 {
		return nil, r.mistakes
	}
	return crdOf(spec.Kind, own, known)
}

// CRDName returns the name of the CRD that the operator makes for a kind. Most CRDs that others make are named so, too.
func CRDName(kind, group string) string { return strings.ToLower(kind) + "s." + group }

// crdOf returns the CRD of a kind of training jobs.
func crdOf(kind v1beta1.FrameworkKind, spec *apiextensionsv1.JSONSchemaProps, known *shared) (*apiextensionsv1.CustomResourceDefinition, error) {
	lower := strings.ToLower(kind.Kind)
	out := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: CRDName(kind.Kind, kind.Group)},
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
			"PodTemplateSpec": withDescription(spec.Properties["replicaSpecs"].Items.Schema.Properties["template"], templateDescription),
			"RunMode":         spec.Properties["runMode"],
			"RunPolicy":       runPolicyOf(spec.Properties["runPolicy"]),
			"SchedulePolicy":  spec.Properties["scheduler"],
		},
		status: root.Properties["status"], columns: version.AdditionalPrinterColumns,
	}, nil
}

// What fields say whose words in the kind that they are read from are about TensorFlow.
const (
	templateDescription     = "template describes the pods. Its restartPolicy has no effect: pods are always Never, and the operator replaces them."
	restartScopeDescription = "restartScope says what a restart replaces. Replica: the replica that ended. Job: every replica, counted as one restart. Default: what the " +
		"TrainingFramework of the kind says, else Replica. Immutable while the job runs. Extension."
)

func withDescription(s apiextensionsv1.JSONSchemaProps, words string) apiextensionsv1.JSONSchemaProps {
	s.Description = words
	return s
}

func runPolicyOf(s apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	s = *s.DeepCopy()
	s.Properties["restartScope"] = withDescription(s.Properties["restartScope"], restartScopeDescription)
	return s
}

// schemaReader reads the schema of a definition.
type schemaReader struct {
	types    map[string]apiextensionsv1.JSONSchemaProps
	refs     int
	mistakes MistakesError
}

// maxRefs is how many types of ours a schema may hold. A PodTemplateSpec is 70 KB, and a cluster stores some 1,500 KB of a CRD at most.
const maxRefs = 16

func (r *schemaReader) wrong(path, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{path, fmt.Sprintf(format, args...)})
}

// resolve puts types in the place of their names.
func (r *schemaReader) resolve(path string, s *apiextensionsv1.JSONSchemaProps) {
	if s.Ref != nil {
		known, ok := r.types[*s.Ref]
		if !ok {
			r.wrong(path+".$ref", "is %q: %s are known", *s.Ref, strings.Join(slices.Sorted(maps.Keys(r.types)), ", "))
			return
		}
		said := s.Description
		if !equality.Semantic.DeepEqual(*s, apiextensionsv1.JSONSchemaProps{Ref: s.Ref, Description: said}) {
			r.wrong(path, "has more than a description beside $ref: %s, which would have no effect. Take it away, or write a rule (x-kubernetes-validations) for the object around it", *s.Ref)
		}
		if r.refs++; r.refs > maxRefs {
			if r.refs == maxRefs+1 {
				r.wrong(path+".$ref", "is one too many: a schema may hold %d, for a cluster stores no larger CRD", maxRefs)
			}
			return
		}
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
