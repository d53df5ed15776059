package crd_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/deploy/crd"
)

// Who gives jobs a new phase gives it to JobPhases, too. Metrics, the plugin and the tests of a definition's status take the phases from there.
func TestJobPhasesAreThoseOfTheCRDs(t *testing.T) {
	for _, raw := range [][]byte{crd.GenericJobs(), crd.TensorFlowTrainingJobs()} {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.Unmarshal(raw, kind))
		for _, version := range kind.Spec.Versions {
			var phases []v1beta1.JobPhase
			for _, value := range version.Schema.OpenAPIV3Schema.Properties["status"].Properties["phase"].Enum {
				var phase v1beta1.JobPhase
				require.NoError(t, yaml.Unmarshal(value.Raw, &phase))
				phases = append(phases, phase)
			}
			require.Equal(t, phases, v1beta1.JobPhases(), "%s, %s", kind.Name, version.Name)
		}
	}
}
