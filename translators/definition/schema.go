package definition

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Schemas are those of a kind's spec and status. Nil: nothing is known, and expressions about it are checked only when they run.
type Schemas struct {
	Spec, Status *apiextensionsv1.JSONSchemaProps
}

// SchemasOf finds the schemas of a kind in its CRD. The error says why jobs of the kind cannot be served.
func SchemasOf(crd *apiextensionsv1.CustomResourceDefinition, kind v1beta1.FrameworkKind) (Schemas, error) {
	if crd.Spec.Group != kind.Group || crd.Spec.Names.Kind != kind.Kind {
		return Schemas{}, fmt.Errorf("CustomResourceDefinition %s is of kind %s in group %s, not of %s in %s", crd.Name, crd.Spec.Names.Kind, crd.Spec.Group, kind.Kind, kind.Group)
	}
	if crd.Spec.Scope != apiextensionsv1.NamespaceScoped {
		return Schemas{}, fmt.Errorf("CustomResourceDefinition %s: spec.scope is %s: jobs must be Namespaced", crd.Name, crd.Spec.Scope)
	}
	for _, version := range crd.Spec.Versions {
		if version.Name != kind.Version {
			continue
		}
		switch {
		case !version.Served:
			return Schemas{}, fmt.Errorf("CustomResourceDefinition %s does not serve version %s", crd.Name, kind.Version)
		case version.Subresources == nil || version.Subresources.Status == nil:
			return Schemas{}, fmt.Errorf("CustomResourceDefinition %s: version %s lacks the subresource status: add subresources: {status: {}}", crd.Name, kind.Version)
		case version.Schema == nil || version.Schema.OpenAPIV3Schema == nil:
			return Schemas{}, nil
		}
		return Schemas{Spec: property(version.Schema.OpenAPIV3Schema, "spec"), Status: property(version.Schema.OpenAPIV3Schema, "status")}, nil
	}
	return Schemas{}, fmt.Errorf("CustomResourceDefinition %s has no version %s", crd.Name, kind.Version)
}

func property(of *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	if p, ok := of.Properties[name]; ok {
		return &p
	}
	return nil
}

// noLimit is a size of which nothing is known.
const noLimit = 1 << 20

func list(of *apiservercel.DeclType, most *int64) *apiservercel.DeclType {
	return apiservercel.NewListType(of, ptr.Deref(most, noLimit))
}
func dictionary(of *apiservercel.DeclType, most *int64) *apiservercel.DeclType {
	return apiservercel.NewMapType(apiservercel.StringType, of, ptr.Deref(most, noLimit))
}

// object returns a type with fields, of which some are always there. Its name is given to it when it stands in its place.
func object(fields map[string]*apiservercel.DeclType, required ...string) *apiservercel.DeclType {
	out := map[string]*apiservercel.DeclField{}
	for name, t := range fields {
		out[name] = apiservercel.NewDeclField(name, t, slices.Contains(required, name), nil, nil)
	}
	return apiservercel.NewObjectType("object", out)
}

// typeOfSchema returns the type of the values that a schema lets in. Dates and bytes are strings. What the schema leaves open is dyn,
// and so is a number, which JSON may write as an integer.
func typeOfSchema(s *apiextensionsv1.JSONSchemaProps) *apiservercel.DeclType {
	switch {
	case s == nil || s.XIntOrString || s.XEmbeddedResource || ptr.Deref(s.XPreserveUnknownFields, false):
		return apiservercel.DynType
	case s.Type == "array" && s.Items != nil:
		return list(typeOfSchema(s.Items.Schema), s.MaxItems)
	case s.Type == "object" && s.AdditionalProperties != nil:
		return dictionary(typeOfSchema(s.AdditionalProperties.Schema), s.MaxProperties)
	case s.Type == "object":
		fields := map[string]*apiservercel.DeclType{}
		for name := range s.Properties {
			fields[name] = typeOfSchema(property(s, name))
		}
		return object(fields, slices.Concat(s.Required, defaulted(s))...)
	}
	return scalarOf(s)
}

// defaulted returns the fields that the apiserver fills in.
func defaulted(s *apiextensionsv1.JSONSchemaProps) (names []string) {
	for name := range s.Properties {
		if s.Properties[name].Default != nil {
			names = append(names, name)
		}
	}
	return names
}

func scalarOf(s *apiextensionsv1.JSONSchemaProps) *apiservercel.DeclType {
	switch s.Type {
	case "string":
		text := apiservercel.NewSimpleTypeWithMinSize("string", cel.StringType, types.String(""), apiservercel.MinStringSize)
		text.MaxElements = ptr.Deref(s.MaxLength, noLimit)
		return text
	case "boolean":
		return apiservercel.BoolType
	case "integer":
		return apiservercel.IntType
	default:
		return apiservercel.DynType
	}
}

var (
	unmarshaler = reflect.TypeFor[json.Unmarshaler]()
	dates       = map[reflect.Type]bool{reflect.TypeFor[metav1.Time](): true, reflect.TypeFor[metav1.MicroTime](): true}
)

// typeOfGo returns the type of the values that a Go type is written as.
func typeOfGo(t reflect.Type) *apiservercel.DeclType {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case dates[t]:
		return apiservercel.StringType
	case reflect.PointerTo(t).Implements(unmarshaler):
		return apiservercel.DynType
	case t.Kind() == reflect.String, t == reflect.TypeFor[[]byte]():
		return apiservercel.StringType
	case t.Kind() == reflect.Bool:
		return apiservercel.BoolType
	case t.Kind() == reflect.Slice:
		return list(typeOfGo(t.Elem()), nil)
	case t.Kind() == reflect.Map:
		return dictionary(typeOfGo(t.Elem()), nil)
	case t.Kind() == reflect.Struct:
		fields := map[string]*apiservercel.DeclType{}
		for name, of := range fieldsOf(t) {
			fields[name] = typeOfGo(of)
		}
		return object(fields)
	case isInt(t):
		return apiservercel.IntType
	default:
		return apiservercel.DynType
	}
}

func isInt(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64 }

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name != "":
			fields[name] = f.Type
		case f.Anonymous:
			for inner, of := range fieldsOf(f.Type) {
				fields[inner] = of
			}
		}
	}
	return fields
}
