package definition_test

import (
	"maps"
	"slices"
	"strings"
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
		made, err := definition.CRDFor(spec)
		if err != nil {
			return nil, err
		}
		if have != nil {
			if narrower := definition.Narrower(spec, have); len(narrower) > 0 {
				return nil, narrower
			}
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
		if scope, ok := b.Properties["restartScope"]; ok { // its words are about the kinds that the operator knows
			require.Contains(t, a.Properties["restartScope"].Description, "Default: what the TrainingFramework of the kind says")
			scope.Description = a.Properties["restartScope"].Description
			b.Properties["restartScope"] = scope
		}
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
		"of a type of ours":     {`{type: object, properties: {template: {type: object, properties: {mine: {type: string}}}}}`, `{type: object, properties: {template: {$ref: PodTemplateSpec}}}`, `spec.schema.properties.template.$ref: is "PodTemplateSpec", which has no mine, but jobs that there are may have it`},
		"no object before":      {`{type: object, properties: {template: {type: string}}}`, `{type: object, properties: {template: {$ref: PodTemplateSpec}}}`, `spec.schema.properties.template.$ref: is "PodTemplateSpec", which is an object, but jobs that there are may have it as "string"`},
		"a reference with more": {"", `{type: object, properties: {template: {$ref: PodTemplateSpec, maxProperties: 1}}}`, `spec.schema.properties.template: has more than a description beside $ref: PodTemplateSpec, which would have no effect`},
		"a reference as a spec": {"", `{$ref: RunPolicy}`, `spec.schema.$ref: is "RunPolicy": a spec is an object with fields of its own`},
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

// TestASchemaThatLetsInLess: each way to tighten a schema is seen, and what loosens it is not.
func TestASchemaThatLetsInLess(t *testing.T) {
	for name, tc := range map[string]struct{ before, after, want string }{
		"required":      {`a: {type: string}`, "a: {type: string}}, required: [a", `spec.schema.required: asks for "a", but jobs that there are may leave it out`},
		"deep":          {`a: {type: array, items: {type: object, properties: {b: {type: integer}}}}`, `a: {type: array, items: {type: object, properties: {b: {type: integer, maximum: 3}}}}`, `spec.schema.properties.a.items.properties.b.maximum: is 3, but jobs that there are may have more`},
		"maximum":       {`a: {type: integer, maximum: 10}`, `a: {type: integer, maximum: 9}`, `properties.a.maximum: is 9, but jobs that there are may have more`},
		"minimum":       {`a: {type: integer, minimum: 1}`, `a: {type: integer, minimum: 2}`, `properties.a.minimum: is 2, but jobs that there are may have less`},
		"minimum of 0":  {`a: {type: integer}`, `a: {type: integer, minimum: 0}`, `properties.a.minimum: is 0`},
		"exclusive":     {`a: {type: integer, maximum: 10}`, `a: {type: integer, maximum: 10, exclusiveMaximum: true}`, `properties.a.exclusiveMaximum: has changed`},
		"maxLength":     {`a: {type: string, maxLength: 10}`, `a: {type: string, maxLength: 9}`, `properties.a.maxLength: is 9`},
		"minLength":     {`a: {type: string}`, `a: {type: string, minLength: 1}`, `properties.a.minLength: is 1`},
		"maxItems":      {`a: {type: array, items: {type: string}}`, `a: {type: array, maxItems: 3, items: {type: string}}`, `properties.a.maxItems: is 3`},
		"maxProperties": {`a: {type: object, additionalProperties: {type: string}}`, `a: {type: object, maxProperties: 3, additionalProperties: {type: string}}`, `properties.a.maxProperties: is 3`},
		"pattern":       {`a: {type: string, pattern: a}`, `a: {type: string, pattern: ab}`, `properties.a.pattern: has changed`},
		"format":        {`a: {type: string}`, `a: {type: string, format: date}`, `properties.a.format: has changed`},
		"multipleOf":    {`a: {type: integer}`, `a: {type: integer, multipleOf: 2}`, `properties.a.multipleOf: has changed`},
		"nullable":      {`a: {type: string, nullable: true}`, `a: {type: string}`, `properties.a.nullable: has changed`},
		"enum":          {`a: {type: string}`, `a: {type: string, enum: [x]}`, `properties.a.enum: is new`},
		"a value goes":  {`a: {type: string, enum: [x, w]}`, `a: {type: string, enum: [x, z]}`, `properties.a.enum: has no w, but jobs that there are may have it`},
		"a rule":        {`a: {type: string}`, `a: {type: string, x-kubernetes-validations: [{rule: "self != ''"}]}`, `properties.a.x-kubernetes-validations: has a new rule, self != ''`},
		"a set":         {`a: {type: array, items: {type: string}}`, `a: {type: array, x-kubernetes-list-type: set, items: {type: string}}`, `properties.a.x-kubernetes-list-type: has changed`},
		"not":           {`a: {type: string}`, `a: {type: string, not: {enum: [x]}}`, `properties.a.not: has changed`},
		"no number":     {`a: {x-kubernetes-int-or-string: true}`, `a: {type: string}`, `properties.a.type: is "string"`},
		"open, a field": {`a: {type: object, x-kubernetes-preserve-unknown-fields: true}`, `a: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: string}}}`, `properties.a.properties.b: is new, but jobs that there are may have another value there`},

		"a bound goes":       {`a: {type: integer, maximum: 10, minimum: 1, multipleOf: 2}`, `a: {type: integer}`, ""},
		"a bound is wider":   {`a: {type: integer, maximum: 10, minimum: 1}`, `a: {type: integer, maximum: 11, minimum: 0}`, ""},
		"a rule goes":        {`a: {type: string, x-kubernetes-validations: [{rule: "self != ''"}]}`, `a: {type: string}`, ""},
		"other words":        {`a: {type: string, x-kubernetes-validations: [{rule: "self != ''", message: a}]}`, `a: {type: string, description: b, x-kubernetes-validations: [{rule: "self != ''", message: b}]}`, ""},
		"a value more":       {`a: {type: string, enum: [x, w]}`, `a: {type: string, enum: [w, x, z]}`, ""},
		"no length of 0":     {`a: {type: string}`, `a: {type: string, minLength: 0}`, ""},
		"a new field inside": {`a: {type: object, properties: {b: {type: string}}}`, `a: {type: object, properties: {b: {type: string}, c: {type: object, required: [d], properties: {d: {type: string, maxLength: 1}}}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := crdFor(t, "{type: object, properties: {"+tc.before+"}}", "{type: object, properties: {"+tc.after+closing(tc.after))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// closing ends the schema of a row, which may have added a list of its own.
func closing(row string) string {
	if strings.HasSuffix(row, "required: [a") {
		return "]}"
	}
	return "}}"
}
