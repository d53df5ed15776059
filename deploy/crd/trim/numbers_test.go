package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// TestEveryNumberThatACRDLetsInCanBeRead looks at all CRDs: one object that does not decode makes the whole list fail, and
// with it the jobs of everybody.
func TestEveryNumberThatACRDLetsInCanBeRead(t *testing.T) {
	looked := 0
	for _, pattern := range []string{"crd/*_*.yaml", "kubeflow/crd/*_*.yaml", "frameworks/*/crd.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var crd map[string]any
			require.NoError(t, yaml.Unmarshal(raw, &crd))
			t.Run(file, func(t *testing.T) { looked += requireBounds(t, "", crd) })
		}
	}
	require.Greater(t, looked, 1000)
}

// requireBounds looks at each number below a node, and returns how many there are.
func requireBounds(t *testing.T, path string, node any) int {
	n := 0
	switch node := node.(type) {
	case map[string]any:
		either, narrow := node["x-kubernetes-int-or-string"] == true, node["format"] == "int32"
		if either && node["pattern"] == quantity {
			require.EqualValues(t, maxQuantity, node["maxLength"], path)
			n++
		} else if either || narrow {
			require.Contains(t, node, "minimum", path)
			require.Contains(t, node, "maximum", path)
			n++
		}
		for key, child := range node {
			n += requireBounds(t, path+"."+key, child)
		}
	case []any:
		for _, child := range node {
			n += requireBounds(t, path+"[]", child)
		}
	}
	return n
}

func TestWhatIsTakenForAQuantityParses(t *testing.T) {
	pattern := regexp.MustCompile(quantity)
	for text, want := range map[string]bool{
		"1": true, "-1": true, "+1": true, "0.5": true, ".5": true, "5.": true, "1Gi": true, "1.5Gi": true, "100m": true, "1n": true,
		"1e3": true, "1E3": true, "1e+3": true, "1e-3": true, "1e99": true, "1e-99": true, "99999999999999999999Ei": true,
		"": false, ".": false, "1e1.5": false, "1e.5": false, "1e100": false, "1e-2147483648": false, "1e99999999999": false, "1 Gi": false, "1Mi5": false,
		"0x10": false, "NaN": false, "1e": false, "--1": false, "١": false, "1\n": false,
	} {
		require.Equal(t, want, pattern.MatchString(text), text)
		if want {
			_, err := resource.ParseQuantity(text)
			require.NoError(t, err, text)
		}
	}
}
