package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// node is a part of a template.
type node struct {
	path   string
	is     shape
	value  any         // a number or truth value
	text   []textPart  // a text with words or several expressions
	whole  *expression // a text that is nothing but an expression
	fields []field     // of an object, in order
	items  []*node     // of a list
}

// shape says which part of a template a node is.
type shape int

const (
	isNull shape = iota
	isValue
	isText
	isWhole // an expression
	isObject
	isList
)

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
	mistakes MistakesError
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
		n.is = isObject
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
		n.is = isList
		for i, item := range v {
			n.items = append(n.items, r.node(fmt.Sprintf("%s[%d]", path, i), item, element(into), depth+1))
		}
		r.fits(n, into)
	default:
		n.is, n.value = isValue, v
		r.fits(n, into)
	}
	return n
}

// text reads a text with expressions, and says whether nothing was wrong with them.
func (r *reader) text(n *node, text string) bool {
	n.is = isText
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
		n.is, n.whole, n.text = isWhole, n.text[0].expression, nil
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
	what := "this"
	if n.is == isWhole {
		what = "${" + n.whole.text + "}"
	}
	if where, problem := r.mismatch(n.celType(), into); problem != "" {
		r.wrong(n.path, "%s%s %s", what, where, problem)
	}
}

// celType is the type of what a node becomes, nil for null.
func (n *node) celType() *cel.Type {
	switch n.is {
	case isWhole:
		return n.whole.is
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
func (r *reader) mismatch(is *cel.Type, into reflect.Type) (where, problem string) {
	if is != nil && is.TypeName() == "optional_type" && len(is.Parameters()) == 1 {
		is = is.Parameters()[0]
	}
	for into != nil && into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	switch {
	case open(is) || into == nil || into.Kind() == reflect.Interface:
		return "", ""
	case reflect.PointerTo(into).Implements(unmarshaler):
		if !writable(is) {
			return "", fmt.Sprintf("is of type %s, but a text or number is wanted", is)
		}
		return "", ""
	case !slices.Contains(wants(into), is.Kind()):
		return "", fmt.Sprintf("is of type %s, but a %s is wanted", is, nameOf(into))
	case is.Kind() == cel.ListKind:
		where, problem = r.mismatch(is.Parameters()[0], into.Elem())
		return "[]" + where, problem
	case is.Kind() == cel.MapKind && into.Kind() == reflect.Map:
		where, problem = r.mismatch(is.Parameters()[1], into.Elem())
		return "{}" + where, problem
	case is.Kind() == cel.StructKind:
		return r.mismatchOfObject(is, into)
	default:
		return "", ""
	}
}

// open says that a type says nothing of its values.
func open(t *cel.Type) bool {
	return t == nil || t.Kind() == cel.DynKind || t.Kind() == cel.AnyKind || t.Kind() == cel.NullTypeKind
}

func (r *reader) mismatchOfObject(is *cel.Type, into reflect.Type) (where, problem string) {
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
