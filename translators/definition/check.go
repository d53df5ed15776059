package definition

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Check says what is wrong with a definition of a kind whose schemas are these. It says what New says, and what would fail jobs that keep
// to the schema and to the validations. The author is to hear of that, and not the users. The error are MistakesError.
func Check(spec *v1beta1.TrainingFrameworkSpec, s Schemas) error {
	d, r, err := read(spec, s)
	if err != nil {
		return err
	}
	c := &reviewer{Definition: d, reader: r, asked: map[*expression][]string{}}
	d.each(func(path string, e *expression) {
		c.checkOptionalFields(path, e)
		c.checkContainers(path, e)
	})
	if err := c.checkLiterals(); err != nil {
		return MistakesError{{"spec", err.Error()}}
	}
	if len(r.mistakes) > 0 {
		return r.mistakes
	}
	return nil
}

// reviewer looks for mistakes of a definition that can be compiled.
type reviewer struct {
	*Definition
	*reader
	asked     map[*expression][]string // see askedIn
	partsSeen int                      // see literalExpression
}

// each calls f for each expression about a job.
func (d *Definition) each(f func(path string, e *expression)) {
	for _, v := range d.variables {
		f(v.path, v.expression)
	}
	for _, v := range d.validations {
		f(v.path+".expression", v.holds)
		v.message.each(f)
	}
	d.genericJob.each(f)
	if d.runPolicy != nil {
		f("spec.runPolicy", d.runPolicy)
	}
	for _, entry := range d.data {
		entry.node.each(f)
	}
}

func (n *node) each(f func(path string, e *expression)) {
	if n.expression != nil {
		f(n.path, n.expression)
	}
	for _, p := range n.text {
		if p.expression != nil {
			f(n.path, p.expression)
		}
	}
	for _, inner := range n.fields {
		inner.node.each(f)
	}
	for _, item := range n.items {
		item.each(f)
	}
}

// visit calls f for each part of an expression.
func (e *expression) visit(f func(ast.Expr)) {
	ast.PostOrderVisit(e.checked.Expr(), ast.NewExprVisitor(f))
}

// checkOptionalFields notes fields of a job that are read though a user may leave them out. A field may be read where the expression, a
// variable that it uses or a validation asks whether the field is there.
func (c *reviewer) checkOptionalFields(path string, e *expression) {
	asked := slices.Clone(c.askedIn(e))
	for _, v := range c.validations {
		asked = append(asked, c.askedIn(v.holds)...)
	}
	e.visit(func(part ast.Expr) {
		if part.Kind() != ast.SelectKind || part.AsSelect().IsTestOnly() {
			return
		}
		name := part.AsSelect().FieldName()
		of := e.checked.GetType(part.AsSelect().Operand().ID())
		if c.mayBeLeftOut(of, name) && !slices.Contains(asked, of.TypeName()+"."+name) {
			asked = append(asked, of.TypeName()+"."+name) // once is enough
			c.wrong(path, "a job may leave out %s, and would then fail: write .?%s and say what holds without it, as in .?%s.orValue(...), or name the field in required of the schema", name, name, name)
		}
	})
}

// mayBeLeftOut reports whether a field of a job's spec may be left out.
func (c *reviewer) mayBeLeftOut(of *cel.Type, name string) bool {
	if of == nil || of.Kind() != cel.StructKind || of.TypeName() != typeJob && !strings.HasPrefix(of.TypeName(), typeJob+".") {
		return false
	}
	declared, _ := c.types.FindDeclType(of.TypeName())
	if declared == nil {
		return false
	}
	f := declared.Fields[name]
	return f != nil && !f.Required && (name != "spec" || !strings.HasSuffix(of.TypeName(), ".template")) // no pod can be made of a template without one
}

// askedIn returns the fields of which an expression asks whether they are there, by has() or .?, itself or in a variable.
func (c *reviewer) askedIn(e *expression) []string {
	if known, ok := c.asked[e]; ok {
		return known
	}
	var asked []string
	e.visit(func(part ast.Expr) {
		switch {
		case part.Kind() == ast.SelectKind && part.AsSelect().IsTestOnly():
			asked = append(asked, e.checked.GetType(part.AsSelect().Operand().ID()).TypeName()+"."+part.AsSelect().FieldName())
		case part.Kind() == ast.CallKind && part.AsCall().FunctionName() == operators.OptSelect:
			args := part.AsCall().Args()
			name, _ := literalText(args[1])
			asked = append(asked, withoutOptional(e.checked.GetType(args[0].ID())).TypeName()+"."+name)
		case part.Kind() == ast.IdentKind:
			if v := c.variable(part.AsIdent()); v != nil {
				asked = append(asked, c.askedIn(v)...)
			}
		}
	})
	slices.Sort(asked)
	c.asked[e] = slices.Compact(asked)
	return c.asked[e]
}

// variable returns the expression of a variable; nil if the name is none.
func (c *reviewer) variable(name string) *expression {
	for _, v := range c.variables {
		if nameVariables+v.name == name {
			return v.expression
		}
	}
	return nil
}

// Functions that need a container, by name, and those that return their template with all that it had.
var (
	needContainer = []string{"setsEnv", "putEnvFirst", "ensurePort", "portNumber"}
	keepContainer = []string{"setMainContainer", "putEnvFirst", "ensurePort"}
)

// checkContainers notes containers of a job's own template that nobody has looked for: a user may call his otherwise.
func (c *reviewer) checkContainers(path string, e *expression) {
	var found []string
	for _, v := range c.validations {
		found = append(found, lookedFor(v.holds, false)...)
	}
	found = append(found, lookedFor(e, true)...)
	e.visit(func(part ast.Expr) {
		if part.Kind() != ast.CallKind || !part.AsCall().IsMemberFunction() {
			return
		}
		call := part.AsCall()
		target, name := call.Target(), ""
		switch {
		case slices.Contains(needContainer, call.FunctionName()):
			name, _ = literalText(call.Args()[0])
		case call.FunctionName() == "value" && isCallOf(target, "findContainer"):
			name, _ = literalText(target.AsCall().Args()[0])
			target = target.AsCall().Target()
		}
		if name != "" && !slices.Contains(found, name) && c.isOfJob(target) {
			found = append(found, name)
			c.wrong(path, "a template of the job may have no container named %s, and the job would then fail: add a validation whose message says so to the user, with the expression job.spec.template.findContainer('%s').hasValue()", name, name)
		}
	})
}

// lookedFor returns the containers that an expression looks for. Only those that it can do without count if careful.
func lookedFor(e *expression, careful bool) (names []string) {
	e.visit(func(part ast.Expr) {
		found := part
		if careful {
			if part.Kind() != ast.CallKind || !part.AsCall().IsMemberFunction() || part.AsCall().FunctionName() == "value" {
				return
			}
			found = part.AsCall().Target()
		}
		if isCallOf(found, "findContainer") {
			name, _ := literalText(found.AsCall().Args()[0])
			names = append(names, name)
		}
	})
	return names
}

func isCallOf(e ast.Expr, name string) bool {
	return e.Kind() == ast.CallKind && e.AsCall().FunctionName() == name && e.AsCall().IsMemberFunction()
}

// isOfJob reports whether a template is the user's, with the containers that he gave it.
func (c *reviewer) isOfJob(e ast.Expr) bool {
	switch e.Kind() {
	case ast.CallKind:
		return e.AsCall().IsMemberFunction() && slices.Contains(keepContainer, e.AsCall().FunctionName()) && c.isOfJob(e.AsCall().Target())
	case ast.SelectKind:
		return c.isOfJob(e.AsSelect().Operand())
	case ast.IdentKind:
		v := c.variable(e.AsIdent())
		return e.AsIdent() == nameJob || v != nil && c.isOfJob(v.checked.Expr())
	default:
		return false
	}
}

// literalText returns a text that stands in an expression.
func literalText(e ast.Expr) (string, bool) {
	value, ok := literalOf(e)
	text, isText := value.(string)
	return text, ok && isText
}

func literalOf(e ast.Expr) (any, bool) {
	if e.Kind() != ast.LiteralKind {
		return nil, false
	}
	return e.AsLiteral().Value(), true
}
