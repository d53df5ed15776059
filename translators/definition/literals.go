package definition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/deploy/crd"
)

// checkLiterals notes values which stand in the definition, and which no GenericJob may have. Such are a policy that there is not, and a number
// out of its bounds. The apiserver would refuse each job for them.
func (c *reviewer) checkLiterals() error {
	known := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.GenericJobs(), known); err != nil {
		return fmt.Errorf("read the schema of GenericJobs: %w", err)
	}
	spec := known.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	c.literalNode(c.genericJob, &spec)
	if c.runPolicy == nil {
		return nil
	}
	shared, err := sharedTypes()
	if err != nil {
		return err
	}
	policy := shared.named["RunPolicy"]
	c.literalExpression("spec.runPolicy", c.runPolicy.checked.Expr(), &policy)
	return nil
}

// maxPartsSeen is at how many parts of expressions literalExpression looks: variables that stand twice in each other would double them each time.
const maxPartsSeen = 10_000

// isOpen reports whether a schema says nothing of a value.
func isOpen(s *apiextensionsv1.JSONSchemaProps) bool {
	return s == nil || s.XIntOrString || ptr.Deref(s.XPreserveUnknownFields, false)
}

// literalNode looks at a part of a template.
func (c *reviewer) literalNode(n *node, s *apiextensionsv1.JSONSchemaProps) {
	if isOpen(s) {
		return
	}
	switch n.shape {
	case isExpression:
		c.literalExpression(n.path, n.expression.checked.Expr(), s)
	case isValue:
		c.literalValue(n.path, n.value, s)
	case isText:
		words := ""
		for _, p := range n.text {
			if p.expression != nil {
				return // a part of it is the job's
			}
			words += p.words
		}
		c.literalValue(n.path, words, s)
	case isList:
		for _, item := range n.items {
			c.literalNode(item, itemsOf(s))
		}
	case isObject:
		has := []string{}
		for _, f := range n.fields {
			has = append(has, f.name)
			c.literalNode(f.node, fieldOf(s, f.name))
		}
		c.checkRequired(n.path, has, s)
	case isNull:
	}
}

// fieldOf returns the schema of a field, nil if nothing is known of it.
func fieldOf(s *apiextensionsv1.JSONSchemaProps, name string) *apiextensionsv1.JSONSchemaProps {
	return cmp.Or(property(s, name), valuesOf(s))
}

// checkRequired notes fields that must be there.
func (c *reviewer) checkRequired(path string, has []string, s *apiextensionsv1.JSONSchemaProps) {
	for _, name := range s.Required {
		if f := property(s, name); !slices.Contains(has, name) && (f == nil || f.Default == nil) {
			c.wrong(path+"."+name, "is missing")
		}
	}
}

// literalExpression looks at what stands in an expression, and in the variables that it consists of.
func (c *reviewer) literalExpression(path string, e ast.Expr, s *apiextensionsv1.JSONSchemaProps) {
	if c.partsSeen++; isOpen(s) || c.partsSeen > maxPartsSeen {
		return
	}
	switch e.Kind() {
	case ast.LiteralKind:
		value, _ := literalOf(e)
		c.literalValue(path, value, s)
	case ast.ListKind:
		for _, item := range e.AsList().Elements() {
			c.literalExpression(path, item, itemsOf(s))
		}
	case ast.MapKind:
		c.literalMap(path, e.AsMap(), s)
	case ast.IdentKind:
		if v := c.variable(e.AsIdent()); v != nil {
			c.literalExpression(path, v.checked.Expr(), s)
		}
	case ast.CallKind:
		c.literalCall(path, e.AsCall(), s)
	default:
	}
}

func (c *reviewer) literalMap(path string, m ast.MapExpr, s *apiextensionsv1.JSONSchemaProps) {
	has := []string{}
	for _, entry := range m.Entries() {
		name, ok := literalText(entry.AsMapEntry().Key())
		if !ok {
			return // any field may be there
		}
		has = append(has, name)
		f := fieldOf(s, name)
		if f == nil && len(s.Properties) > 0 {
			c.wrong(path, "there is no field %s: %s are known", name, strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
			continue
		}
		c.literalExpression(path+"."+name, entry.AsMapEntry().Value(), f)
	}
	c.checkRequired(path, has, s)
}

// literalCall looks at both ends of a condition, at what holds without an optional, and at the name of a policy.
func (c *reviewer) literalCall(path string, call ast.CallExpr, s *apiextensionsv1.JSONSchemaProps) {
	args := call.Args()
	switch call.FunctionName() {
	case operators.Conditional:
		c.literalExpression(path, args[1], s)
		c.literalExpression(path, args[2], s)
	case "orValue":
		c.literalExpression(path, args[0], s)
	case "restartPolicy":
		c.literalExpression(path+".policy", args[0], property(s, "policy"))
	}
}

// literalValue notes a value that the schema does not let in.
func (c *reviewer) literalValue(path string, value any, s *apiextensionsv1.JSONSchemaProps) {
	if isOpen(s) || value == nil {
		return
	}
	if len(s.Enum) > 0 {
		raw, err := json.Marshal(value)
		if err == nil && !slices.ContainsFunc(s.Enum, func(one apiextensionsv1.JSON) bool { return string(one.Raw) == string(raw) }) {
			var known []string
			for _, one := range s.Enum {
				known = append(known, strings.Trim(string(one.Raw), `"`))
			}
			c.wrong(path, "is %v: %s are allowed", value, strings.Join(known, ", "))
		}
		return
	}
	switch v := value.(type) {
	case string:
		c.literalWords(path, v, s)
	case int64:
		c.literalNumber(path, float64(v), s)
	case float64:
		c.literalNumber(path, v, s)
	}
}

func (c *reviewer) literalWords(path, text string, s *apiextensionsv1.JSONSchemaProps) {
	n := int64(utf8.RuneCountInString(text))
	switch matches, err := regexp.MatchString(s.Pattern, text); {
	case s.MaxLength != nil && n > *s.MaxLength:
		c.wrong(path, "has %d characters: at most %d are allowed", n, *s.MaxLength)
	case s.MinLength != nil && n < *s.MinLength:
		c.wrong(path, "has %d characters: at least %d are wanted", n, *s.MinLength)
	case s.Pattern != "" && err == nil && !matches:
		c.wrong(path, "is %q, which does not match %s", text, s.Pattern)
	}
}

func (c *reviewer) literalNumber(path string, n float64, s *apiextensionsv1.JSONSchemaProps) {
	switch {
	case s.Maximum != nil && n > *s.Maximum:
		c.wrong(path, "is %v: at most %v is allowed", n, *s.Maximum)
	case s.Minimum != nil && n < *s.Minimum:
		c.wrong(path, "is %v: at least %v is wanted", n, *s.Minimum)
	}
}
