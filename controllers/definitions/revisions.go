package definitions

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// revisionsOf makes reconcilers of all revisions that a definition has accepted, the newest first. One may no longer fit the kind's schema,
// which has changed since. The operator takes such a definition without the schema: its mistakes fail jobs, and only those that it concerns.
func revisionsOf(f *v1beta1.TrainingFramework, s definition.Schemas, plain *training.Reconciler) ([]*training.Reconciler, error) {
	var list []*training.Reconciler
	for i := range f.Status.Revisions {
		spec := &f.Status.Revisions[i].Spec
		d, err := definition.New(spec, s)
		if err != nil {
			d, err = definition.New(spec, definition.Schemas{})
		}
		if err != nil {
			return nil, fmt.Errorf("status.revisions[%d] of TrainingFramework %s is none that was accepted: %w", i, f.Name, err)
		}
		list = append(list, plain.With(blaming(f.Name, d.Registration())))
	}
	return list, nil
}

// blaming is a registration whose errors name the definition, where they are not for the user.
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
