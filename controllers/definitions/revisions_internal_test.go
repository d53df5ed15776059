package definitions

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/definition"
)

// TestARevisionThatAnEarlierOperatorAcceptedHoldsUpNoOther: jobs of the others, and new ones, are compiled.
func TestARevisionThatAnEarlierOperatorAcceptedHoldsUpNoOther(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "frameworks", "jax", "framework.yaml"))
	require.NoError(t, err)
	d := &v1beta1.TrainingFramework{}
	require.NoError(t, yaml.UnmarshalStrict(raw, d))
	bad := d.Spec.DeepCopy()
	bad.RunPolicy = "job.spec.name.matches(job.name)"
	of := func(specs ...*v1beta1.TrainingFrameworkSpec) ([]*training.Reconciler, error) {
		d.Status.Revisions = nil
		for _, spec := range specs {
			d.Status.Revisions = append(d.Status.Revisions, v1beta1.FrameworkRevision{Name: definition.RevisionOf(spec), Spec: *spec})
		}
		return revisionsOf(d, definition.Schemas{}, &training.Reconciler{})
	}
	list, err := of(&d.Spec, bad, &d.Spec)
	require.NoError(t, err)
	require.Len(t, list, 2)
	_, err = of(bad, &d.Spec)
	require.ErrorIs(t, err, errNewest)
	require.ErrorContains(t, err, "status.revisions[0] of TrainingFramework jax: spec.runPolicy: matches takes a pattern")
}
