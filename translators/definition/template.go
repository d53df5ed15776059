package definition

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/cel"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// node is a part of a template.
type node struct {
	path       string
	shape      shape
	value      any         // a number or truth value
	text       []textPart  // a text with words or several expressions
	expression *expression // a text that is nothing but an expression
	fields     []field     // of an object, in order
	items      []*node     // of a list
}

// shape says which part of a template a node is.
type shape int

const (
	isNull shape = iota
	isValue
	isText
	isExpression // a text that is nothing else
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
		n.shape = isObject
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, ok := member(into, name)
			if !ok {
				r.wrong(path+"."+name, "there is no such field")
				continue
			}
			n.fields = append(n.fields, field{name, r.node(path+"."+name, v[name], inner, depth+1)})
		}
		r.fits(n, into)
	case []any:
		n.shape = isList
		for i, item := range v {
			n.items = append(n.items, r.node(fmt.Sprintf("%s[%d]", path, i), item, element(into), depth+1))
		}
		r.fits(n, into)
	default:
		n.shape, n.value = isValue, v
		r.fits(n, into)
	}
	return n
}

// text reads a text with expressions, and reports whether nothing was wrong with them.
func (r *reader) text(n *node, text string) bool {
	n.shape = isText
	parts, err := splitText(text)
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
		n.shape, n.expression, n.text = isExpression, n.text[0].expression, nil
		return true
	}
	for _, p := range n.text {
		if p.expression != nil && !writable(p.expression.resultType) {
			r.wrong(n.path, "${%s} is of type %s, and text stands around it: a text can hold texts, numbers and truth values", p.expression.text, p.expression.resultType)
			return false
		}
	}
	return true
}

// writable reports whether a value of a type can be written into a text.
func writable(t *cel.Type) bool {
	switch t.Kind() {
	case cel.StringKind, cel.IntKind, cel.UintKind, cel.DoubleKind, cel.BoolKind, cel.DynKind:
		return true
	default:
		return false
	}
}
