package definition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/genericjob/genericjob/translators/framework"
)

// Compile makes of a job what shall run for it. An error names the place in the definition, unless it is that of a validation,
// whose message is for the user. The time to live of a job is in the program even then.
func (d *Definition) Compile(job *Job) (framework.Program, error) {
	r, err := d.newRun(job)
	if err != nil {
		return framework.Program{}, err
	}
	program, err := r.program(job)
	if err != nil {
		return framework.Program{TTLSecondsAfterFinished: r.fresh().timeToLive()}, err
	}
	return program, nil
}

// program returns what a job becomes.
func (r *run) program(job *Job) (framework.Program, error) {
	program := framework.Program{}
	for _, v := range r.validations {
		if err := r.validate(v); err != nil {
			return program, err
		}
	}
	for _, entry := range r.data {
		text, err := r.textOfNode(entry.node)
		if err != nil {
			return program, err
		}
		if program.Data == nil {
			program.Data = map[string]string{}
		}
		program.Data[entry.name] = text
	}
	if len(program.Data) > 0 {
		r.known[nameData] = types.String(framework.ConfigMapName(job.Name, program.Data))
	}
	if err := r.spec(&program.Spec); err != nil {
		return program, err
	}
	return program, r.policy(&program)
}

// maxWrapDepth is how deep in a spec pod templates are looked for.
const maxWrapDepth = 3

// run is the compilation of one job. It is what its expressions are given.
type run struct {
	*Definition
	known          map[string]any // what expressions see, by name; variables once they are asked for
	cost           uint64         // of all expressions until now
	keepsTemplates bool           // templates as they are: see spec
}

// newRun reads a job, and returns a run of it.
func (d *Definition) newRun(job *Job) (*run, error) {
	var spec any = map[string]any{}
	if len(job.Spec.Raw) > 0 {
		if err := utiljson.Unmarshal(job.Spec.Raw, &spec); err != nil {
			return nil, fmt.Errorf("spec: %w", err)
		}
	}
	wrapTemplates(spec, maxWrapDepth)
	return &run{Definition: d, known: map[string]any{
		nameJob: map[string]any{"name": job.Name, "namespace": job.Namespace, "spec": spec},
	}}, nil
}

// fresh returns a run of the same job that has cost nothing yet, and in which no variable is known.
func (r *run) fresh() *run {
	known := map[string]any{nameJob: r.known[nameJob]}
	if data, ok := r.known[nameData]; ok {
		known[nameData] = data
	}
	return &run{Definition: r.Definition, known: known}
}

// ResolveName implements interpreter.Activation.
func (r *run) ResolveName(name string) (any, bool) {
	if value, ok := r.known[name]; ok {
		return value, true
	}
	short, ok := strings.CutPrefix(name, nameVariables)
	if !ok {
		return nil, false
	}
	for _, v := range r.variables {
		if v.name != short {
			continue
		}
		value, err := r.value(v.path, v.expression)
		if err == nil {
			err = checkSize(value) // others are made of it
		}
		if err != nil {
			value = types.WrapErr(withPath(v.path, err))
		}
		r.known[name] = value
		return value, true
	}
	return nil, false
}

// Parent implements interpreter.Activation.
func (r *run) Parent() interpreter.Activation { return nil }

// withPath returns an error with the place of the expression that it came from, unless it has one.
func withPath(path string, err error) error {
	var has *placedError
	if errors.As(err, &has) {
		return has
	}
	return &placedError{path, err}
}

type placedError struct {
	path string
	err  error
}

// Error names the place first.
func (e *placedError) Error() string { return e.path + ": " + e.err.Error() }

// IsDefinitionError reports whether an error of Compile is the definition's. Such an error is one of a place in it, and not the message of a
// validation to the user.
func IsDefinitionError(err error) bool {
	var has *placedError
	return errors.As(err, &has)
}

// Unwrap returns what was wrong there.
func (e *placedError) Unwrap() error { return e.err }

// value returns that of an expression. All expressions of a job share what they may cost.
func (r *run) value(path string, e *expression) (ref.Val, error) {
	value, details, err := e.program.Eval(r)
	r.cost += costOfRun(details)
	switch {
	case err != nil && strings.Contains(err.Error(), "cost limit exceeded"):
		return nil, withPath(path, fmt.Errorf("the expression costs more than %d for this job: it takes too long", maxCost))
	case err != nil:
		return nil, withPath(path, err)
	case r.cost > maxJobCost:
		return nil, withPath(path, fmt.Errorf("the expressions of the definition together cost more than %d for this job: they take too long", maxJobCost))
	default:
		return value, nil
	}
}

func costOfRun(details *cel.EvalDetails) uint64 {
	if details == nil || details.ActualCost() == nil {
		return 0
	}
	return *details.ActualCost()
}

// validate says what is wrong with the job, in the words of the definition.
func (r *run) validate(v validation) error {
	holds, err := r.value(v.path+".expression", v.holds)
	if err != nil {
		return err
	}
	if holds == types.True {
		return nil
	}
	message, err := r.textOfNode(v.message)
	if err != nil {
		return err
	}
	return errors.New(message)
}

// textOfNode returns the text that a node becomes.
func (r *run) textOfNode(n *node) (string, error) {
	value, err := r.plain(n)
	if err != nil {
		return "", err
	}
	text, ok := value.(string)
	if !ok {
		return "", withPath(n.path, fmt.Errorf("is no text but %v", value))
	}
	return text, nil
}

// plain returns the plain value of a node, nil if it is left out: maps, lists, texts and numbers, of which JSON can be made.
func (r *run) plain(n *node) (any, error) {
	switch n.shape {
	case isExpression:
		return r.plainValue(n.path, n.expression)
	case isText:
		return r.text(n)
	case isObject:
		return r.object(n)
	case isList:
		return r.list(n)
	default:
		return n.value, nil
	}
}

// plainValue returns the value of an expression as JSON has it.
func (r *run) plainValue(path string, e *expression) (any, error) {
	value, err := r.value(path, e)
	if err != nil {
		return nil, err
	}
	b := &budget{nodes: maxNodes, text: maxString, keepsTemplates: r.keepsTemplates}
	plain, err := b.plain(value)
	if err != nil {
		return nil, withPath(path, err)
	}
	return plain, nil
}

func (r *run) object(n *node) (any, error) {
	out := map[string]any{}
	for _, f := range n.fields {
		value, err := r.plain(f.node)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out[f.name] = value
		}
	}
	return out, nil
}

func (r *run) list(n *node) (any, error) {
	out := []any{}
	for _, item := range n.items {
		value, err := r.plain(item)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out = append(out, value)
		}
	}
	return out, nil
}

// text joins the parts of a text.
func (r *run) text(n *node) (string, error) {
	var b strings.Builder
	for _, p := range n.text {
		if p.expression == nil {
			b.WriteString(p.words)
			continue
		}
		value, err := r.value(n.path, p.expression)
		if err != nil {
			return "", err
		}
		written, ok := value.ConvertToType(types.StringType).(types.String)
		if !ok {
			return "", withPath(n.path, fmt.Errorf("${%s} is of type %s, which no text can hold", p.expression.text, value.Type().TypeName()))
		}
		if b.WriteString(string(written)); b.Len() > maxString {
			return "", withPath(n.path, errTooLarge)
		}
	}
	return b.String(), nil
}
