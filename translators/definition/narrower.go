package definition

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Narrower returns the places where the schema of a definition lets in less than the kind that there is. It returns none if nothing is narrower.
// A job of that kind may not fit any more. The apiserver shows no field that it does not know, and refuses each later write, a pause for example.
func Narrower(spec *v1beta1.TrainingFrameworkSpec, have *apiextensionsv1.CustomResourceDefinition) MistakesError {
	own := &apiextensionsv1.JSONSchemaProps{}
	if spec.Schema == nil || yaml.UnmarshalStrict(spec.Schema.Raw, own) != nil {
		return nil // CRDFor says what is wrong with it
	}
	before, err := SchemasOf(have, spec.Kind)
	if err != nil {
		return nil // no job of this version is served
	}
	known, err := sharedTypes()
	if err != nil {
		return nil // as above
	}
	r := &schemaReader{types: known.named}
	r.narrower("spec.schema", before.Spec, own)
	return r.mistakes
}

// narrower notes what a new schema takes from jobs that there may be.
func (r *schemaReader) narrower(path string, have, want *apiextensionsv1.JSONSchemaProps) {
	if have == nil {
		return
	}
	if want.Ref != nil {
		r.narrowerType(path, have, *want.Ref)
		return
	}
	anything := ptr.Deref(want.XPreserveUnknownFields, false)
	if have.Type != want.Type && (want.Type != "" || !anything) {
		r.wrong(path+".type", "is %q, but jobs that there are may have it as %q", want.Type, have.Type)
		return
	}
	if !anything && (ptr.Deref(have.XPreserveUnknownFields, false) || valuesOf(have) != nil && valuesOf(want) == nil) {
		r.wrong(path, "lets in less than before, but jobs that there are may have any field there")
		return
	}
	r.narrowerBounds(path, have, want)
	r.narrowerWords(path, have, want)
	r.narrowerInside(path, have, want, anything)
}

// narrowerType looks at a value that becomes one of a type of ours. Such a type grows only, so a value that was one fits for ever.
func (r *schemaReader) narrowerType(path string, have *apiextensionsv1.JSONSchemaProps, name string) {
	if have.Type != "object" {
		r.wrong(path+".$ref", "is %q, which is an object, but jobs that there are may have it as %q", name, cmp.Or(have.Type, "any value"))
		return
	}
	known := r.types[name]
	if ptr.Deref(have.XPreserveUnknownFields, false) || valuesOf(have) != nil {
		r.wrong(path+".$ref", "is %q, but jobs that there are may have any field there", name)
		return
	}
	for _, field := range slices.Sorted(maps.Keys(have.Properties)) {
		if property(&known, field) == nil {
			r.wrong(path+".$ref", "is %q, which has no %s, but jobs that there are may have it", name, field)
		}
	}
}

// narrowerInside looks at the fields, entries and values of a schema.
func (r *schemaReader) narrowerInside(path string, have, want *apiextensionsv1.JSONSchemaProps, anything bool) {
	for _, name := range want.Required {
		if !slices.Contains(have.Required, name) {
			r.wrong(path+".required", "asks for %q, but jobs that there are may leave it out", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have.Properties)) {
		now := property(want, name)
		switch {
		case now != nil:
			r.narrower(path+".properties."+name, property(have, name), now)
		case !anything:
			r.wrong(path+".properties."+name, "is taken away, but jobs that there are may have it")
		}
	}
	if ptr.Deref(have.XPreserveUnknownFields, false) {
		for _, name := range slices.Sorted(maps.Keys(want.Properties)) {
			if property(have, name) == nil {
				r.wrong(path+".properties."+name, "is new, but jobs that there are may have another value there")
			}
		}
	}
	if now := itemsOf(want); now != nil {
		r.narrower(path+".items", itemsOf(have), now)
	}
	if now := valuesOf(want); now != nil {
		r.narrower(path+".additionalProperties", valuesOf(have), now)
	}
}

// narrowerBounds looks at numbers.
func (r *schemaReader) narrowerBounds(path string, have, want *apiextensionsv1.JSONSchemaProps) {
	narrowerMaximum(r, path+".maximum", have.Maximum, want.Maximum)
	narrowerMaximum(r, path+".maxLength", have.MaxLength, want.MaxLength)
	narrowerMaximum(r, path+".maxItems", have.MaxItems, want.MaxItems)
	narrowerMaximum(r, path+".maxProperties", have.MaxProperties, want.MaxProperties)
	if want.Minimum != nil && (have.Minimum == nil || *want.Minimum > *have.Minimum) {
		r.wrong(path+".minimum", "is %v, but jobs that there are may have less", *want.Minimum)
	}
	narrowerMinimum(r, path+".minLength", have.MinLength, want.MinLength)
	narrowerMinimum(r, path+".minItems", have.MinItems, want.MinItems)
	narrowerMinimum(r, path+".minProperties", have.MinProperties, want.MinProperties)
	for _, one := range []struct {
		name      string
		have, is  any
		restricts bool
	}{
		{"exclusiveMaximum", have.ExclusiveMaximum, want.ExclusiveMaximum, want.ExclusiveMaximum},
		{"exclusiveMinimum", have.ExclusiveMinimum, want.ExclusiveMinimum, want.ExclusiveMinimum},
		{"uniqueItems", have.UniqueItems, want.UniqueItems, want.UniqueItems},
		{"multipleOf", have.MultipleOf, want.MultipleOf, want.MultipleOf != nil},
		{"pattern", have.Pattern, want.Pattern, want.Pattern != ""},
		{"format", have.Format, want.Format, want.Format != ""},
		{"nullable", have.Nullable, want.Nullable, !want.Nullable},
		{"x-kubernetes-int-or-string", have.XIntOrString, want.XIntOrString, true},
		{"x-kubernetes-embedded-resource", have.XEmbeddedResource, want.XEmbeddedResource, want.XEmbeddedResource},
		{"x-kubernetes-list-type", have.XListType, want.XListType, ptr.Deref(want.XListType, "atomic") != "atomic"},
		{"x-kubernetes-list-map-keys", have.XListMapKeys, want.XListMapKeys, true},
		{"allOf", have.AllOf, want.AllOf, len(want.AllOf) > 0},
		{"anyOf", have.AnyOf, want.AnyOf, len(want.AnyOf) > 0},
		{"oneOf", have.OneOf, want.OneOf, len(want.OneOf) > 0},
		{"not", have.Not, want.Not, want.Not != nil},
	} {
		if one.restricts && !equality.Semantic.DeepEqual(one.have, one.is) {
			r.wrong(path+"."+one.name, "has changed, but values of jobs that there are may not fit it")
		}
	}
}

func narrowerMaximum[T cmp.Ordered](r *schemaReader, path string, have, want *T) {
	if want != nil && (have == nil || *want < *have) {
		r.wrong(path, "is %v, but jobs that there are may have more", *want)
	}
}

// narrowerMinimum looks at the least size of something: none is 0.
func narrowerMinimum(r *schemaReader, path string, have, want *int64) {
	if now := ptr.Deref(want, 0); now > ptr.Deref(have, 0) {
		r.wrong(path, "is %d, but jobs that there are may have less", now)
	}
}

// narrowerWords looks at enumerated values and at rules.
func (r *schemaReader) narrowerWords(path string, have, want *apiextensionsv1.JSONSchemaProps) {
	if len(want.Enum) > 0 {
		now := valuesIn(want.Enum)
		for _, value := range valuesIn(have.Enum) {
			if !slices.ContainsFunc(now, func(v any) bool { return equality.Semantic.DeepEqual(v, value) }) {
				r.wrong(path+".enum", "has no %v, but jobs that there are may have it", value)
			}
		}
		if len(have.Enum) == 0 {
			r.wrong(path+".enum", "is new, but jobs that there are may have any value")
		}
	}
	for _, rule := range want.XValidations {
		if !slices.ContainsFunc(have.XValidations, func(h apiextensionsv1.ValidationRule) bool { return h.Rule == rule.Rule }) {
			r.wrong(path+".x-kubernetes-validations", "has a new rule, %s, but jobs that there are may not keep it", rule.Rule)
		}
	}
}

func valuesIn(list []apiextensionsv1.JSON) []any {
	var values []any
	for _, one := range list {
		var value any
		if utiljson.Unmarshal(one.Raw, &value) == nil {
			values = append(values, value)
		}
	}
	return values
}
