package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// node is a part of a template. One of its fields is set, or none for null.
type node struct {
	path   string
	value  any          // a number or truth value
	text   []textPart   // a text with words or several expressions
	whole  *expression  // a text that is nothing but an expression
	fields []field      // in order
	items  []*node      // a list
	is     reflect.Kind // Map, Slice, String, Interface (whole) or Bool (value); Invalid: null
}

type field struct {
	name string
	node *node
}

type textPart struct {
	words      string
	expression *expression
}

// maxTemplateDepth is how deep a template may be nested.
const maxTemplateDepth = 64

// reader reads templates in an environment and collects the mistakes.
type reader struct {
	*environment
	mistakes Mistakes
}

func (r *reader) wrong(path, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{path, fmt.Sprintf(format, args...)})
}

// template reads a template, whose value must fit into a Go type; nil fits all.
func (r *reader) template(path string, raw []byte, into reflect.Type) *node {
	var value any
	if err := utiljson.Unmarshal(raw, &value); err != nil {
		r.wrong(path, "%v", err)
		return &node{path: path}
	}
	return r.node(path, value, into, 0)
}

func (r *reader) node(path string, value any, into reflect.Type, depth int) *node {
	n := &node{path: path}
	if depth > maxTemplateDepth {
		r.wrong(path, "nested deeper than %d", maxTemplateDepth)
		return n
	}
	switch v := value.(type) {
	case nil:
	case string:
		if r.text(n, v) {
			r.fits(n, into)
		}
	case map[string]any:
		n.is = reflect.Map
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, known := member(into, name)
			if !known {
				r.wrong(path+"."+name, "there is no such field")
				continue
			}
			n.fields = append(n.fields, field{name, r.node(path+"."+name, v[name], inner, depth+1)})
		}
		r.fits(n, into)
	case []any:
		n.is = reflect.Slice
		for i, item := range v {
			n.items = append(n.items, r.node(fmt.Sprintf("%s[%d]", path, i), item, element(into), depth+1))
		}
		r.fits(n, into)
	default:
		n.is, n.value = reflect.Bool, v
		r.fits(n, into)
	}
	return n
}

// text reads a text with expressions, and says whether nothing was wrong with them.
func (r *reader) text(n *node, text string) bool {
	n.is = reflect.String
	parts, err := partsOf(text)
	if err != nil {
		r.wrong(n.path, "%v", err)
		return false
	}
	for _, p := range parts {
		if !p.isExpression {
			n.text = append(n.text, textPart{words: p.words})
			continue
		}
		e, err := r.expression(p.expression)
		if err != nil {
			r.wrong(n.path, "%v", err)
			return false
		}
		n.text = append(n.text, textPart{expression: e})
	}
	if len(n.text) == 1 && n.text[0].expression != nil {
		n.is, n.whole, n.text = reflect.Interface, n.text[0].expression, nil
		return true
	}
	for _, p := range n.text {
		if p.expression != nil && !writable(p.expression.is) {
			r.wrong(n.path, "${%s} is of type %s, and text stands around it: a text can hold texts, numbers and truth values", p.expression.text, p.expression.is)
			return false
		}
	}
	return true
}

// writable says whether a value of a type can be written into a text.
func writable(t *cel.Type) bool {
	switch t.Kind() {
	case cel.StringKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.BoolKind, cel.DynKind:
		return true
	default:
		return false
	}
}

// fits notes a mistake if what a node becomes does not fit into a Go type.
func (r *reader) fits(n *node, into reflect.Type) {
	is := map[reflect.Kind]*cel.Type{reflect.String: cel.StringType, reflect.Map: cel.MapType(cel.StringType, cel.DynType), reflect.Slice: cel.ListType(cel.DynType)}[n.is]
	what := "this"
	switch n.is {
	case reflect.Interface:
		is, what = n.whole.is, "${"+n.whole.text+"}"
	case reflect.Bool:
		is = cel.DynType
		switch n.value.(type) {
		case bool:
			is = cel.BoolType
		case int64:
			is = cel.IntType
		case float64:
			is = cel.DoubleType
		}
	}
	if where, problem := r.mismatch(is, into); problem != "" {
		r.wrong(n.path, "%s%s %s", what, where, problem)
	}
}

// mismatch says where and why values of a CEL type are none of a Go type; "" if they may be.
func (r *reader) mismatch(is *cel.Type, into reflect.Type) (where, problem string) {
	if is != nil && is.TypeName() == "optional_type" && len(is.Parameters()) == 1 {
		is = is.Parameters()[0]
	}
	for into != nil && into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	if is == nil || into == nil || is.Kind() == cel.DynKind || is.Kind() == cel.AnyKind || is.Kind() == cel.NullTypeKind {
		return "", ""
	}
	if reflect.PointerTo(into).Implements(unmarshaler) || into.Kind() == reflect.Interface {
		if !writable(is) && into.Kind() != reflect.Interface {
			return "", fmt.Sprintf("is of type %s, but a text or number is wanted", is)
		}
		return "", ""
	}
	if of := element(into); of != nil && is.Kind() == cel.ListKind && into.Kind() == reflect.Slice {
		where, problem = r.mismatch(is.Parameters()[0], of)
		return "[]" + where, problem
	}
	if isObject(is) && (into.Kind() == reflect.Struct || into.Kind() == reflect.Map) {
		return r.mismatchOfObject(is, into)
	}
	if wanted := wants(into); !slices.Contains(wanted, is.Kind()) {
		return "", fmt.Sprintf("is of type %s, but a %s is wanted", is, nameOf(into))
	}
	return "", ""
}

func isObject(t *cel.Type) bool { return t.Kind() == cel.StructKind || t.Kind() == cel.MapKind }

func (r *reader) mismatchOfObject(is *cel.Type, into reflect.Type) (where, problem string) {
	if is.Kind() == cel.MapKind {
		if into.Kind() != reflect.Map {
			return "", ""
		}
		where, problem = r.mismatch(is.Parameters()[1], into.Elem())
		return "{}" + where, problem
	}
	declared, _ := r.types.FindDeclType(is.TypeName())
	if declared == nil {
		return "", ""
	}
	for _, name := range slices.Sorted(maps.Keys(declared.Fields)) {
		inner, known := member(into, name)
		if !known {
			continue // it may not be used
		}
		if where, problem := r.mismatch(declared.Fields[name].Type.CelType(), inner); problem != "" {
			return "." + name + where, problem
		}
	}
	return "", ""
}

// wants are the kinds of CEL's whose values fit into a Go type.
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

// member is the type of a field of a Go type; nil is any, and false that there is none.
func member(t reflect.Type, name string) (reflect.Type, bool) {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil, reflect.PointerTo(t).Implements(unmarshaler):
		return nil, true
	case t.Kind() == reflect.Map:
		return t.Elem(), true
	case t.Kind() == reflect.Struct:
		of, known := fieldsOf(t)[name]
		return of, known
	default:
		return nil, true // the mistake is that it has fields at all
	}
}

func element(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Slice {
		return nil
	}
	return t.Elem()
}
