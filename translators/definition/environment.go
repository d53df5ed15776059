package definition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/ext"
	corev1 "k8s.io/api/core/v1"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What bounds an expression. A unit of cost is about 100 ns, as in Kubernetes' own expressions.
const (
	// maxText is the length in characters of an expression.
	maxText = 4096
	// maxDepth is how deep an expression may be nested.
	maxDepth = 64
	// maxLoops is how many loops and concatenations of lists one expression may hold. Each could double what it was given, in
	// ways of which the cost is known too late.
	maxLoops = 8
	// maxCost is the cost of one expression: about 0.1 s.
	maxCost = 1_000_000
	// maxJobCost is the cost of all expressions of a job together.
	maxJobCost = 3_000_000
)

// Names of what expressions see.
const (
	nameJob       = "job"
	nameVariables = "variables."
	nameData      = "data.name"
	nameObserved  = "observed"
	nameShown     = "shown"

	// typeJob is the type of job; those of what it holds begin with it.
	typeJob = "Job"
)

// podTemplate is the type of the pod templates that functions return, observed that of the state of a job.
var (
	podTemplate = typeOfGo(reflect.TypeFor[corev1.PodTemplateSpec]()).MaybeAssignTypeName("PodTemplate")
	container   = podTemplate.Fields["spec"].Type.Fields["containers"].Type.ElemType
	observed    = typeOfGo(reflect.TypeFor[v1beta1.TrainingJobStatus]()).MaybeAssignTypeName("TrainingJobStatus")
)

// environment is where expressions are checked.
type environment struct {
	*cel.Env
	types     *apiservercel.DeclTypeProvider
	variables map[string]*apiservercel.DeclType
}

// newEnvironment returns an environment of these variables.
func newEnvironment(variables map[string]*apiservercel.DeclType) (*environment, error) {
	options := []cel.EnvOption{
		cel.OptionalTypes(), cel.CrossTypeNumericComparisons(true), cel.DefaultUTCTimeZone(true),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateComprehensionNestingLimit(3)),
		cel.ParserExpressionSizeLimit(maxText), cel.ParserRecursionLimit(maxDepth),
		ext.TwoVarComprehensions(), ext.Math(),
	}
	known := []*apiservercel.DeclType{podTemplate, observed}
	for name, t := range variables {
		options = append(options, cel.Variable(name, t.CelType()))
		known = append(known, t)
	}
	options = append(options, functions()...)
	plain, err := cel.NewEnv(options...)
	if err != nil {
		return nil, err
	}
	types := apiservercel.NewDeclTypeProvider(known...)
	more, err := types.EnvOptions(plain.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	full, err := plain.Extend(more...)
	return &environment{full, types, variables}, err
}

// jobEnvironment returns the environment of expressions about a job.
func jobEnvironment(s Schemas, hasData bool) (*environment, error) {
	job := object(map[string]*apiservercel.DeclType{
		"name": apiservercel.StringType, "namespace": apiservercel.StringType, "spec": typeOfSchema(s.Spec),
	}, "name", "namespace", "spec").MaybeAssignTypeName(typeJob)
	variables := map[string]*apiservercel.DeclType{nameJob: job}
	if hasData {
		variables[nameData] = apiservercel.StringType
	}
	return newEnvironment(variables)
}

// with returns the environment with one variable more.
func (e *environment) with(name string, t *cel.Type) (*environment, error) {
	more, err := e.Extend(cel.Variable(name, t))
	return &environment{more, e.types, e.variables}, err
}

// expression is one that was checked.
type expression struct {
	text       string
	program    cel.Program
	checked    *ast.AST
	resultType *cel.Type
}

// expression checks one.
func (e *environment) expression(text string) (*expression, error) {
	checked, issues := e.Compile(text)
	if issues.Err() != nil {
		return nil, errors.New(shorter(issues))
	}
	if n := loops(checked); n > maxLoops {
		return nil, fmt.Errorf("%d loops and concatenations of lists in one expression: %d are allowed; name parts of it in variables", n, maxLoops)
	}
	if err := freePattern(checked); err != nil {
		return nil, err
	}
	if err := e.checkCost(checked); err != nil {
		return nil, err
	}
	program, err := e.Program(checked, cel.CostLimit(maxCost), cel.CostTracking(prices{}), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, err
	}
	return &expression{strings.TrimSpace(text), program, checked.NativeRep(), checked.OutputType()}, nil
}

// freePattern says that a pattern of a regular expression does not stand in the definition. CEL counts what it costs to match one by the
// lengths of pattern and text. But 300 bytes like ((a{0,30}){0,30})* take half a minute, and a job's author would choose them.
func freePattern(checked *cel.Ast) (found error) {
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches {
			return
		}
		args := e.AsCall().Args() // the pattern is the last one, of text.matches(pattern) and of matches(text, pattern)
		if args[len(args)-1].Kind() != ast.LiteralKind {
			found = errors.New("matches takes a pattern that stands in the definition, as in matches('^[a-z]+$'): one that is made of other values may take any time. " +
				"Compare with ==, contains, startsWith or endsWith instead")
		}
	}))
	return found
}

// shorter returns the mistakes of an expression, each with its place and without the picture of it.
func shorter(issues *cel.Issues) string {
	var list []string
	for _, e := range issues.Errors() {
		if e.Location.Line() > 1 {
			list = append(list, fmt.Sprintf("%s (line %d, character %d)", e.Message, e.Location.Line(), e.Location.Column()+1))
			continue
		}
		list = append(list, fmt.Sprintf("%s (character %d)", e.Message, e.Location.Column()+1))
	}
	return strings.Join(list, "; ")
}

// loops counts the loops of an expression, and the places where it may concatenate lists.
func loops(checked *cel.Ast) int {
	n, types := 0, checked.NativeRep()
	ast.PostOrderVisit(types.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.ComprehensionKind:
			n++
		case e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Add && concatenates(types.GetType(e.ID()), e.AsCall().Args()):
			n++
		}
	}))
	return n
}

// concatenates reports whether a sum may be one of lists. The one that a loop collects its results by is the loop's own.
func concatenates(sum *cel.Type, of []ast.Expr) bool {
	if sum.Kind() != cel.ListKind && sum.Kind() != cel.DynKind {
		return false
	}
	return of[0].Kind() != ast.IdentKind || !strings.HasPrefix(of[0].AsIdent(), "@")
}
