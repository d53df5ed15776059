// Package kueue holds what Kueue needs to queue jobs of Kubeflow's kinds; its tests keep it current.
package kueue

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

type configuration struct {
	APIVersion   string `json:"apiVersion"`
	Integrations struct {
		Frameworks         []string `json:"frameworks"`
		ExternalFrameworks []string `json:"externalFrameworks"`
	} `json:"integrations"`
}

func read(t *testing.T, file string) configuration {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	c := configuration{}
	require.NoError(t, yaml.Unmarshal(raw, &c))
	return c
}

// kinds are Kubeflow's that the operator serves, as Kueue calls them.
var kinds = []string{
	"kubeflow.org/tfjob", "kubeflow.org/pytorchjob", "kubeflow.org/xgboostjob", "kubeflow.org/paddlejob", "kubeflow.org/jaxjob", "kubeflow.org/mpijob",
}

func TestConfigurationNamesOurKind(t *testing.T) {
	require.Equal(t, []string{v1beta1.KindGenericJob + "." + v1beta1.GroupVersion.Version + "." + v1beta1.GroupVersion.Group},
		read(t, "configuration.yaml").Integrations.ExternalFrameworks)
}

// Who appends all of it to Kueue 0.19's own configuration, as the document says, has each kind once. Kueue does not start with one that
// stands there twice.
func TestConfigurationFitsBesideKueuesOwn(t *testing.T) {
	ours, theirs := read(t, "configuration.yaml"), read(t, "testdata/kueue-0.19.yaml")
	require.Equal(t, theirs.APIVersion, ours.APIVersion)
	merged := slices.Concat(theirs.Integrations.Frameworks, ours.Integrations.Frameworks)
	require.Subset(t, merged, kinds)
	slices.Sort(merged)
	require.Equal(t, slices.Compact(slices.Clone(merged)), merged, "Kueue says Duplicate value, and does not start")
	require.Empty(t, theirs.Integrations.ExternalFrameworks)
}

// The older ones list all kinds themselves: the document has nothing but externalFrameworks appended.
func TestOlderConfigurationsListAllKinds(t *testing.T) {
	require.Subset(t, read(t, "testdata/kueue-0.15.yaml").Integrations.Frameworks, kinds)
}

// What the document has one append to the configuration of a version is what makes each kind stand there once.
func TestTheDocumentSaysWhatToAppend(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for _, version := range []string{"0.15", "0.19"} {
		line := regexp.MustCompile(`(?m)^\| [^|]*\b` + regexp.QuoteMeta(version) + `\b[^|]*\| ([^|]*) \| ([^|]*) \|$`).FindStringSubmatch(string(raw))
		require.NotNil(t, line, version)
		listed := read(t, "testdata/kueue-"+version+".yaml").Integrations.Frameworks
		all := !slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(listed, kind) })
		if all {
			require.Equal(t, []string{"all six kinds of `kubeflow.org`", "`externalFrameworks` alone"}, line[1:], version)
			continue
		}
		require.Equal(t, "all of `configuration.yaml`", line[2], version)
		for _, kind := range kinds {
			require.Equal(t, slices.Contains(listed, kind), strings.Contains(line[1], "`"+kind+"`"), "%s: %s", version, kind)
		}
	}
}
