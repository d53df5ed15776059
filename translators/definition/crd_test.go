package definition_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// crdFor is the CRD of a schema in YAML, for a kind that has been made with another one before.
func crdFor(t *testing.T, before, text string) (*apiextensionsv1.CustomResourceDefinition, error) {
	t.Helper()
	spec := &v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "TestJob"}}
	var have *apiextensionsv1.CustomResourceDefinition
	for _, one := range []string{before, text} {
		if one == "" {
			continue
		}
		raw, err := yaml.YAMLToJSON([]byte(one))
		require.NoError(t, err)
		spec.Schema = &runtime.RawExtension{Raw: raw}
		made, err := definition.CRDFor(spec, have)
		if err != nil {
			return nil, err
		}
		have = made
	}
	return have, nil
}

// shortSchema is all that JAX needs.
const shortSchema = `
type: object
required: [template]
properties:
  replicas: {type: integer, minimum: 1, maximum: 10000}
  template: {$ref: PodTemplateSpec, description: "the pods"}
  runPolicy: {$ref: RunPolicy}
  runMode: {$ref: RunMode}
  scheduler: {$ref: SchedulePolicy}
`

// TestASchemaOfAFewLinesIsThatOfAWholeKind: what the catalog's JAX says fits the kind that the operator would make.
func TestASchemaOfAFewLinesIsThatOfAWholeKind(t *testing.T) {
	made, err := crdFor(t, "", shortSchema)
	require.NoError(t, err)
	require.Equal(t, "testjobs.example.com", made.Name)
	require.Len(t, made.Annotations[v1beta1.AnnotationSchema], 10)
	full := load[apiextensionsv1.CustomResourceDefinition](t, catalog+"jax/crd.yaml").Spec.Versions[0]
	root, want := made.Spec.Versions[0].Schema.OpenAPIV3Schema, full.Schema.OpenAPIV3Schema
	for _, name := range []string{"template", "runPolicy", "runMode", "scheduler"} {
		a, b := root.Properties["spec"].Properties[name], want.Properties["spec"].Properties[name]
		a.Description, b.Description = "", ""
		require.Equal(t, b, a, name)
	}
	require.Equal(t, "the pods", root.Properties["spec"].Properties["template"].Description)
	require.Equal(t, names(want.Properties["status"]), names(root.Properties["status"]))
	require.NotNil(t, made.Spec.Versions[0].Subresources.Status)
	require.Equal(t, "Phase", made.Spec.Versions[0].AdditionalPrinterColumns[0].Name)

	spec := load[v1beta1.TrainingFramework](t, catalog+"jax/framework.yaml").Spec
	spec.Kind = v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "TestJob"}
	schemas, err := definition.SchemasOf(made, spec.Kind)
	require.NoError(t, err)
	_, err = definition.New(&spec, schemas)
	require.NoError(t, err)
}

func names(s apiextensionsv1.JSONSchemaProps) []string {
	return slices.Sorted(maps.Keys(s.Properties))
}

func TestMistakesOfASchema(t *testing.T) {
	for name, tc := range map[string]struct{ before, text, want string }{
		"no object":             {"", `{type: string}`, `spec.schema.type: is "string": a spec is an object`},
		"an unknown word":       {"", `{type: object, propertys: {}}`, `unknown field "propertys"`},
		"an unknown type":       {"", `{type: object, properties: {a: {type: array, items: {$ref: PodSpec}}}}`, `spec.schema.properties.a.items.$ref: is "PodSpec": PodTemplateSpec, RunMode, RunPolicy, SchedulePolicy are known`},
		"a default":             {"", `{type: object, properties: {a: {type: integer, default: 1}}}`, `spec.schema.properties.a.default: is not allowed`},
		"a field goes":          {`{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`, `{type: object, properties: {a: {type: object}}}`, `spec.schema.properties.a.properties.b: is taken away`},
		"another type":          {`{type: object, properties: {a: {type: array, items: {type: string}}}}`, `{type: object, properties: {a: {type: array, items: {type: integer}}}}`, `spec.schema.properties.a.items.type: is "integer", but jobs that there are may have it as "string"`},
		"a type of ours goes":   {shortSchema, `{type: object, properties: {template: {type: object}, replicas: {type: integer}, runPolicy: {$ref: RunPolicy}, runMode: {$ref: RunMode}, scheduler: {$ref: SchedulePolicy}}}`, `spec.schema.properties.template.properties.metadata: is taken away`},
		"any field, no more":    {`{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{type: object}`, `spec.schema: lets in less than before`},
		"any key, no more":      {`{type: object, properties: {a: {type: object, additionalProperties: {type: string}}}}`, `{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`, `spec.schema.properties.a: lets in less than before`},
		"of the keys of a map":  {`{type: object, additionalProperties: {type: string}}`, `{type: object, additionalProperties: {type: integer}}`, `spec.schema.additionalProperties.type: is "integer"`},
		"all that is wrong":     {"", `{type: list, properties: {a: {default: 1}}}`, "spec.schema.type: is \"list\": a spec is an object\nspec.schema.properties.a.default: "},
		"what it was, and more": {shortSchema, shortSchema + "  more: {type: string}\n", ""},
		"anything from now on":  {`{type: object, properties: {a: {type: string}}}`, `{type: object, x-kubernetes-preserve-unknown-fields: true}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := crdFor(t, tc.before, tc.text)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}
