package jobs

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Definition is how the TrainingFramework of a kind stands.
type Definition struct {
	// Name is its name; "" if there is none for the kind.
	Name string
	// Serves says that jobs of the kind are worked on, and Message why not.
	Serves  bool
	Message string
}

// ReadDefinition reads how the TrainingFramework of the job's kind stands, if the kind is one that only a definition can serve. A user who may
// not read definitions is not told, nor one of a cluster without them.
func (f *Family) ReadDefinition(ctx context.Context, c client.Reader) error {
	if !f.IsDefined() {
		return nil
	}
	all := &v1beta1.TrainingFrameworkList{}
	err := c.List(ctx, all)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case err != nil:
		return fmt.Errorf("list TrainingFrameworks: %w", err)
	}
	f.Definition = &Definition{}
	for i := range all.Items {
		one := &all.Items[i]
		if kind := one.Spec.Kind; kind.Kind != f.Kind.Kind || kind.Group != f.Kind.Group {
			continue
		}
		serving := meta.FindStatusCondition(one.Status.Conditions, v1beta1.FrameworkServing)
		if serving == nil {
			serving = &metav1.Condition{Message: "The operator has not said anything of it yet."}
		}
		if serves := serving.Status == metav1.ConditionTrue; serves || f.Definition.Name == "" { // of rivals one serves
			f.Definition = &Definition{Name: one.Name, Serves: serves, Message: serving.Message}
		}
	}
	return nil
}
