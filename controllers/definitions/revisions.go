package definitions

import (
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// errNewest says that no new job can be compiled.
var errNewest = errors.New("this operator does not accept the last revision that was accepted")

// revisionsOf returns reconcilers of all revisions that a definition has accepted, the newest first. One may no longer fit the kind's schema,
// which has changed since. The operator takes such a definition without the schema: its mistakes fail jobs, and only those that it concerns. An
// earlier operator may have accepted what this one does not. Jobs of such a revision go on as they are, and say that it is not kept.
func revisionsOf(d *v1beta1.TrainingFramework, s definition.Schemas, base *training.Reconciler) ([]*training.Reconciler, error) {
	var list []*training.Reconciler
	for i := range d.Status.Revisions {
		spec := &d.Status.Revisions[i].Spec
		compiler, err := definition.New(spec, s)
		if err != nil {
			compiler, err = definition.New(spec, definition.Schemas{})
		}
		switch {
		case err != nil && i == 0:
			return nil, fmt.Errorf("%w: status.revisions[0] of TrainingFramework %s: %w", errNewest, d.Name, err)
		case err != nil:
			continue
		}
		list = append(list, base.With(blaming(d.Name, compiler.Registration())))
	}
	return list, nil
}

// blaming returns a registration whose errors name the definition, where they are not for the user.
func blaming(name string, f framework.Registration) framework.Registration {
	compile := f.Compile
	f.Compile = func(job client.Object) (framework.Program, error) {
		program, err := compile(job)
		if definition.IsDefinitionError(err) {
			err = &training.DefinitionError{Definition: name, Err: err}
		}
		return program, err
	}
	return f
}
