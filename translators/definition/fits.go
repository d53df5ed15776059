package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// fits notes a mistake if what a node becomes does not fit into a Go type.
func (r *reader) fits(n *node, into reflect.Type) {
	what := "this"
	if n.shape == isExpression {
		what = "${" + n.expression.text + "}"
	}
	if where, problem := r.mismatch(n.celType(), into); problem != "" {
		r.wrong(n.path, "%s%s %s", what, where, problem)
	}
}

// celType returns the type of what a node becomes, nil for null.
func (n *node) celType() *cel.Type {
	switch n.shape {
	case isExpression:
		return n.expression.resultType
	case isText:
		return cel.StringType
	case isObject:
		return cel.MapType(cel.StringType, cel.DynType)
	case isList:
		return cel.ListType(cel.DynType)
	case isValue:
		return types.DefaultTypeAdapter.NativeToValue(n.value).Type().(*cel.Type)
	default:
		return nil
	}
}

// mismatch says where and why values of a CEL type are none of a Go type; "" if they may be.
func (r *reader) mismatch(from *cel.Type, into reflect.Type) (where, problem string) {
	from, into = withoutOptional(from), withoutPointers(into)
	if open(from) || into == nil || into.Kind() == reflect.Interface {
		return "", ""
	}
	if reflect.PointerTo(into).Implements(unmarshaler) {
		if !writable(from) {
			return "", fmt.Sprintf("is of type %s, but a text or number is wanted", from)
		}
		return "", ""
	}
	if !slices.Contains(wants(into), from.Kind()) {
		return "", fmt.Sprintf("is of type %s, but a %s is wanted", from, nameOf(into))
	}
	return r.mismatchInside(from, into)
}

// mismatchInside looks at what a list, map or object consists of.
func (r *reader) mismatchInside(from *cel.Type, into reflect.Type) (where, problem string) {
	switch {
	case from.Kind() == cel.ListKind:
		where, problem = r.mismatch(from.Parameters()[0], into.Elem())
		return "[]" + where, problem
	case from.Kind() == cel.MapKind && into.Kind() == reflect.Map:
		where, problem = r.mismatch(from.Parameters()[1], into.Elem())
		return "{}" + where, problem
	case from.Kind() == cel.StructKind:
		return r.mismatchOfObject(from, into)
	default:
		return "", ""
	}
}

func withoutOptional(t *cel.Type) *cel.Type {
	if t != nil && t.TypeName() == "optional_type" && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

func withoutPointers(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// open reports whether a type says nothing of its values.
func open(t *cel.Type) bool {
	return t == nil || t.Kind() == cel.DynKind || t.Kind() == cel.AnyKind || t.Kind() == cel.NullTypeKind
}

func (r *reader) mismatchOfObject(from *cel.Type, into reflect.Type) (where, problem string) {
	declared, _ := r.types.FindDeclType(from.TypeName())
	if declared == nil {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(declared.Fields)) {
		inner, ok := member(into, name)
		if !ok {
			continue // it may not be used
		}
		if where, problem := r.mismatch(declared.Fields[name].Type.CelType(), inner); problem != "" {
			return "." + name + where, problem
		}
	}
	return "", ""
}

// wants returns the kinds of CEL's whose values fit into a Go type.
func wants(t reflect.Type) []cel.Kind {
	switch {
	case t.Kind() == reflect.String, t == reflect.TypeFor[[]byte]():
		return []cel.Kind{cel.StringKind}
	case t.Kind() == reflect.Bool:
		return []cel.Kind{cel.BoolKind}
	case isInt(t):
		return []cel.Kind{cel.IntKind, cel.UintKind}
	case t.Kind() == reflect.Float64, t.Kind() == reflect.Float32:
		return []cel.Kind{cel.IntKind, cel.DoubleKind}
	case t.Kind() == reflect.Slice:
		return []cel.Kind{cel.ListKind}
	default:
		return []cel.Kind{cel.MapKind, cel.StructKind}
	}
}

func nameOf(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.String:
		return "text"
	case isInt(t):
		return "number"
	case t.Kind() == reflect.Bool:
		return "truth value"
	case t.Kind() == reflect.Slice:
		return "list"
	default:
		return strings.TrimPrefix(t.Name(), "*") + " object"
	}
}

// member returns the type of a field of a Go type; nil for any type, and false if there is no such field.
func member(t reflect.Type, name string) (reflect.Type, bool) {
	t = withoutPointers(t)
	switch {
	case t == nil, reflect.PointerTo(t).Implements(unmarshaler):
		return nil, true
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() == reflect.Struct:
		of, ok := fieldsOf(t)[name]
		return of, ok
	default:
		return nil, true // the mistake is that it has fields at all
	}
}

func element(t reflect.Type) reflect.Type {
	t = withoutPointers(t)
	if t == nil || t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}
