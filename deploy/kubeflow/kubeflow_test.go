// Package kubeflow holds the manifests for Kubeflow's kinds; its tests keep what the manifests promise.
package kubeflow

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// annotationLimit is what the apiserver allows for all annotations of an object. A plain `kubectl apply` keeps the whole
// object in one.
const annotationLimit = 262_144

// crd is what the tests look at of a CustomResourceDefinition.
type crd struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Conversion any       `json:"conversion"`
		Versions   []version `json:"versions"`
	} `json:"spec"`
}

type version struct {
	Name                     string         `json:"name"`
	Served                   bool           `json:"served"`
	Storage                  bool           `json:"storage"`
	Deprecated               bool           `json:"deprecated"`
	Schema                   map[string]any `json:"schema"`
	Subresources             map[string]any `json:"subresources"`
	AdditionalPrinterColumns []struct {
		Name     string `json:"name"`
		JSONPath string `json:"jsonPath"`
	} `json:"additionalPrinterColumns"`
}

func crds(t *testing.T) map[string]crd {
	t.Helper()
	files, err := filepath.Glob("crd/*_*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 6)
	found := map[string]crd{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		compact, err := yaml.YAMLToJSON(raw)
		require.NoError(t, err)
		require.Less(t, len(compact), annotationLimit, "%s: kubectl apply would need --server-side", file)
		one := crd{}
		require.NoError(t, yaml.Unmarshal(raw, &one))
		found[one.Spec.Names.Kind] = one
	}
	return found
}

func TestTheOlderVersionIsServedFromTheSameSchema(t *testing.T) {
	for kind, crd := range crds(t) {
		if kind != "TFJob" && kind != "PyTorchJob" {
			continue
		}
		require.Len(t, crd.Spec.Versions, 2, kind)
		newer, older := crd.Spec.Versions[0], crd.Spec.Versions[1]
		require.Equal(t, "v1", newer.Name)
		require.True(t, newer.Served && newer.Storage && !newer.Deprecated)
		require.Equal(t, "v1beta2", older.Name)
		require.True(t, older.Served && !older.Storage && older.Deprecated)
		require.Equal(t, newer.Schema, older.Schema)
		require.Equal(t, newer.Subresources, older.Subresources)
		require.Nil(t, crd.Spec.Conversion, "nothing need be converted")
	}
}

// The training operator's CRD of MPIJobs has stored v1. The apiserver takes none that lacks it.
func TestMPIJobsThatTheTrainingOperatorStoredDoNotStopTheCRD(t *testing.T) {
	versions := crds(t)["MPIJob"].Spec.Versions
	require.Len(t, versions, 2)
	require.Equal(t, "v2beta1", versions[0].Name)
	require.True(t, versions[0].Served && versions[0].Storage)
	require.Equal(t, "v1", versions[1].Name)
	require.False(t, versions[1].Served || versions[1].Storage)
}

// The names that Kubeflow's own CRDs have, and the paths that autoscalers use.
func TestNamesAreKubeflows(t *testing.T) {
	found := crds(t)
	require.Equal(t, "tfjobs.kubeflow.org", found["TFJob"].Metadata.Name)
	require.Equal(t, "pytorchjobs.kubeflow.org", found["PyTorchJob"].Metadata.Name)
	for _, kind := range []string{"XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"} {
		require.Equal(t, strings.ToLower(kind)+"s.kubeflow.org", found[kind].Metadata.Name)
	}
	require.NotContains(t, found["TFJob"].Spec.Versions[0].Subresources, "scale")
	require.Equal(t, map[string]any{
		"specReplicasPath":   ".spec.pytorchReplicaSpecs.Worker.replicas",
		"statusReplicasPath": ".status.replicaStatuses.Worker.active",
		"labelSelectorPath":  ".status.replicaStatuses.Worker.selector",
	}, found["PyTorchJob"].Spec.Versions[0].Subresources["scale"])
	for _, crd := range found {
		state := crd.Spec.Versions[0].AdditionalPrinterColumns[0]
		require.Equal(t, "State", state.Name)
		require.Equal(t, ".status.conditions[-1:].type", state.JSONPath)
	}
}

func TestNothingIsDefaultedInStorage(t *testing.T) {
	for kind, crd := range crds(t) {
		eachSchema(crd.Spec.Versions[0].Schema["openAPIV3Schema"], func(schema map[string]any) {
			require.NotContains(t, schema, "default", kind)
		})
	}
}

// eachSchema visits schemas, but not those of pod templates, in which Kubernetes' own types bring a few defaults along.
func eachSchema(node any, visit func(map[string]any)) {
	schema, is := node.(map[string]any)
	if !is {
		return
	}
	visit(schema)
	properties, _ := schema["properties"].(map[string]any)
	for name, child := range properties {
		if name != "template" {
			eachSchema(child, visit)
		}
	}
	eachSchema(schema["additionalProperties"], visit)
	eachSchema(schema["items"], visit)
}

// render is what kustomize makes of the installation.
func render(t *testing.T) string {
	t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skipf("no kubectl in KUBEBUILDER_ASSETS, so deploy/kubeflow is not rendered: run make test")
	}
	rendered, err := exec.CommandContext(t.Context(), kubectl, "kustomize", ".").CombinedOutput()
	require.NoError(t, err, string(rendered))
	return string(rendered)
}

func TestInstallationRenders(t *testing.T) {
	rendered := render(t)
	require.Equal(t, 1, strings.Count(rendered, "- --kubeflow\n"))
	require.Contains(t, rendered, "name: tfjobs.kubeflow.org")
	require.Contains(t, rendered, "name: genericjobs.batch.tensorstack.dev")
}
