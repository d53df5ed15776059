package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// maxSize is how many bytes of JSON a definition may take.
const maxSize = 64 << 10

// Definition is a TrainingFramework that was accepted.
type Definition struct {
	kind        v1beta1.FrameworkKind
	variables   []variable
	validations []validation
	genericJob  *node
	runPolicy   *expression
	data        []field
	status      *node       // nil: a TrainingJobStatus
	phase       *expression // with status
	revision    string
}

type variable struct {
	name, path string
	*expression
}

type validation struct {
	path    string
	holds   *expression
	message *node
}

// Mistake is something in a definition that cannot be run.
type Mistake struct {
	// Field is its place, as in spec.genericJob.replicaSpecs[0].template.
	Field string
	// Message says what is wrong.
	Message string
}

// MistakesError are all that were found in a definition.
type MistakesError []Mistake

// Error lists them, a line each.
func (m MistakesError) Error() string {
	var lines []string
	for _, one := range m {
		lines = append(lines, one.Field+": "+one.Message)
	}
	return strings.Join(lines, "\n")
}

// New checks a definition of a kind whose schemas are these. The error are MistakesError.
func New(spec *v1beta1.TrainingFrameworkSpec, s Schemas) (*Definition, error) {
	d, _, err := read(spec, s)
	return d, err
}

// read reads a definition. The reader knows the types of its expressions.
func read(spec *v1beta1.TrainingFrameworkSpec, s Schemas) (*Definition, *reader, error) {
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, nil, MistakesError{{"spec", err.Error()}}
	}
	if len(raw) > maxSize {
		return nil, nil, MistakesError{{"spec", fmt.Sprintf("is %d bytes of JSON: %d are allowed", len(raw), maxSize)}}
	}
	d := &Definition{kind: spec.Kind, revision: RevisionOf(spec)}
	env, err := jobEnvironment(s, len(spec.Data) > 0)
	if err != nil {
		return nil, nil, MistakesError{{"spec", err.Error()}}
	}
	r := &reader{environment: env}
	d.readVariables(r, spec.Variables)
	d.readValidations(r, spec.Validations)
	d.genericJob = r.template("spec.genericJob", spec.GenericJob.Raw, reflect.TypeFor[v1beta1.GenericJobSpec]())
	d.refuseFields(r)
	if spec.RunPolicy != "" {
		d.runPolicy = r.expressionFor("spec.runPolicy", spec.RunPolicy, reflect.TypeFor[v1beta1.RunPolicy]())
	}
	d.readData(r, spec.Data)
	if spec.Status != nil {
		d.readStatus(r, spec, s)
	}
	if len(r.mistakes) > 0 {
		return nil, nil, r.mistakes
	}
	return d, r, nil
}

// refuseFields notes fields of a GenericJob that are not for jobs which own one.
func (d *Definition) refuseFields(r *reader) {
	for _, f := range d.genericJob.fields {
		switch f.name {
		case "ttlSecondsAfterFinished":
			r.wrong(f.node.path, "a GenericJob that goes before its job would be missed: runPolicy deletes the job in time")
		case "managedBy":
			r.wrong(f.node.path, "the operator runs the GenericJobs that it makes")
		}
	}
}

// RevisionOf returns a name that is made of all that a definition says.
func RevisionOf(spec *v1beta1.TrainingFrameworkSpec) string {
	raw, err := json.Marshal(canonical(spec))
	if err != nil {
		raw = nil // what cannot be JSON is not accepted
	}
	return v1beta1.Hash5("definition", string(raw)) + v1beta1.Hash5(string(raw), "definition")
}

// canonical returns a definition as a map: of the same content, in whatever order its fields were written.
func canonical(spec *v1beta1.TrainingFrameworkSpec) any {
	var out any
	if raw, err := json.Marshal(spec); err != nil || json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// expressionFor reads a single expression, whose value must fit into a Go type.
func (r *reader) expressionFor(path, text string, into reflect.Type) *expression {
	e, err := r.expression(text)
	if err != nil {
		r.wrong(path, "%v", err)
		return nil
	}
	if where, problem := r.mismatch(e.resultType, into); problem != "" {
		r.wrong(path, "this%s %s", where, problem)
	}
	return e
}

// readVariables reads the variables. Each is known to the expressions after it.
func (d *Definition) readVariables(r *reader, list []v1beta1.FrameworkVariable) {
	for i, v := range list {
		path := fmt.Sprintf("spec.variables[%d].expression", i)
		e, err := r.expression(v.Expression)
		resultType := cel.DynType // so that its users are not wrong for its sake
		if err != nil {
			r.wrong(path, "%v", err)
		} else {
			resultType = e.resultType
			d.variables = append(d.variables, variable{v.Name, path, e})
		}
		env, err := r.with(nameVariables+v.Name, resultType)
		if err != nil {
			r.wrong(path, "%v", err)
			continue
		}
		r.environment = env
	}
}

func (d *Definition) readValidations(r *reader, list []v1beta1.FrameworkValidation) {
	for i, v := range list {
		path := fmt.Sprintf("spec.validations[%d]", i)
		d.validations = append(d.validations, validation{
			path:    path,
			holds:   r.expressionFor(path+".expression", v.Expression, reflect.TypeFor[bool]()),
			message: r.textNode(path+".message", v.Message),
		})
	}
}

// textNode reads a template of a text.
func (r *reader) textNode(path, text string) *node {
	return r.node(path, text, reflect.TypeFor[string](), 0)
}

func (d *Definition) readData(r *reader, data map[string]v1beta1.FrameworkText) {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		d.data = append(d.data, field{key, r.textNode("spec.data["+key+"]", string(data[key]))})
	}
}

// readStatus reads how the status looks, and what phase it shows. If the kind has a status of its own, readStatus looks at it with jobs
// in every state. There is nobody to tell if it cannot be written later.
func (d *Definition) readStatus(r *reader, spec *v1beta1.TrainingFrameworkSpec, s Schemas) {
	shown := typeOfSchema(s.Status).MaybeAssignTypeName("Status")
	for _, part := range []struct {
		name string
		is   *apiservercel.DeclType
		read func(*reader)
	}{
		{nameObserved, observed, func(r *reader) { d.status = r.template("spec.status", spec.Status.Raw, nil) }},
		{nameShown, shown, func(r *reader) { d.phase = r.expressionFor("spec.phase", spec.Phase, reflect.TypeFor[string]()) }},
	} {
		env, err := newEnvironment(map[string]*apiservercel.DeclType{part.name: part.is})
		if err != nil {
			r.wrong("spec.status", "%v", err)
			return
		}
		own := &reader{environment: env}
		part.read(own)
		r.mistakes = append(r.mistakes, own.mistakes...)
	}
	if len(r.mistakes) == 0 {
		d.tryStatus(r)
	}
}
