// Package kueue holds what Kueue needs to queue jobs of Kubeflow's kinds; its tests keep it current.
package kueue

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestConfigurationNamesOurKind(t *testing.T) {
	raw, err := os.ReadFile("configuration.yaml")
	require.NoError(t, err)
	configuration := struct {
		Integrations struct {
			Frameworks         []string `json:"frameworks"`
			ExternalFrameworks []string `json:"externalFrameworks"`
		} `json:"integrations"`
	}{}
	require.NoError(t, yaml.Unmarshal(raw, &configuration))
	require.Equal(t, []string{"kubeflow.org/tfjob", "kubeflow.org/pytorchjob", "kubeflow.org/xgboostjob", "kubeflow.org/paddlejob",
		"kubeflow.org/jaxjob", "kubeflow.org/mpijob"}, configuration.Integrations.Frameworks)
	require.Equal(t, []string{v1beta1.KindGenericJob + "." + v1beta1.GroupVersion.Version + "." + v1beta1.GroupVersion.Group},
		configuration.Integrations.ExternalFrameworks)
}
