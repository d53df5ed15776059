package controllers_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestPodsAreThoseOfKubeflow compares, field by field, the pods of manifests of our own with those that Kubeflow's operators make of them, as
// `make peers UPDATE=-update` has recorded them. Each difference must be known, and each that is known must be found here: one that is
// mended leaves the list.
func TestPodsAreThoseOfKubeflow(t *testing.T) {
	t.Parallel()
	found, pods := map[string][]string{}, 0
	for _, kind := range []string{"tfjob", "pytorchjob", "xgboostjob", "paddlejob", "jaxjob", "mpijob"} {
		folder := filepath.Join("..", "e2e", "peers")
		theirs := map[string]theirJob{}
		readJSON(t, filepath.Join(folder, "pods", kind+".json"), &theirs)
		text, err := os.ReadFile(filepath.Join(folder, "manifests", kind+".yaml"))
		require.NoError(t, err)
		manifests := bytes.Split(text, []byte("\n---\n"))
		require.Len(t, theirs, len(manifests), "%s: run make peers UPDATE=-update", kind)
		for _, document := range manifests {
			manifest := map[string]any{}
			require.NoError(t, yaml.Unmarshal(document, &manifest))
			meta := manifest["metadata"].(map[string]any)
			meta["namespace"] = "ns"
			name := meta["name"].(string)
			require.Contains(t, theirs, name, kind)
			pods += len(theirs[name].Pods) + len(theirs[name].Workers)
			for _, difference := range compare(t, name, manifest, theirs[name]) {
				found[difference] = append(found[difference], kind+"/"+name)
			}
		}
	}
	require.Greater(t, pods, 50)
	seen := requireKnown(t, found)
	for _, k := range knownDifferences {
		if !seen[k.what] {
			t.Errorf("%s is not found any more: remove it from the list", k.what)
		}
	}
}
