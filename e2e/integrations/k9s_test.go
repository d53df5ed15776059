package integrations

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/e2e/states"
)

// served are the kinds of deploy/integrations/k9s-views.yaml, as k9s names them.
var served = map[string]states.Kind{
	"batch.tensorstack.dev/v1beta1/genericjobs":            states.Generic,
	"batch.tensorstack.dev/v1beta1/pytorchtrainingjobs":    states.PyTorch,
	"batch.tensorstack.dev/v1beta1/tensorflowtrainingjobs": states.TensorFlow,
	"kubeflow.org/v1/pytorchjobs":                          states.KubeflowPyTorch,
	"kubeflow.org/v1/tfjobs":                               states.KubeflowTensorFlow,
}

// Each column of k9s' shows something in some state. Those without a path are k9s' own.
func TestColumnsOfK9sShowSomething(t *testing.T) {
	file := struct {
		Views map[string]struct {
			Columns []string `json:"columns"`
		} `json:"views"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(recipe(t, "k9s-views.yaml"), &file))
	require.Len(t, file.Views, len(served))
	for name, view := range file.Views {
		require.Contains(t, served, name)
		var jobs []*unstructured.Unstructured
		for _, s := range states.All {
			jobs = append(jobs, served[name].In(t, s))
		}
		for _, column := range view.Columns {
			_, path, has := strings.Cut(column, ":")
			if !has || strings.Contains(path, "progress") { // which is there once code has told a step
				continue
			}
			path = regexp.MustCompile(`\|[A-Z]+$`).ReplaceAllString(path, "")
			shown := ""
			for _, job := range jobs {
				parser := jsonpath.New(column).AllowMissingKeys(true)
				require.NoError(t, parser.Parse("{"+path+"}"), column)
				var out bytes.Buffer
				require.NoError(t, parser.Execute(&out, job.Object), column)
				shown += out.String()
			}
			require.NotEmpty(t, shown, "%s: %s", name, column)
		}
	}
}

// The keys of k9s' are for those kinds, and call verbs of kubectl gj.
func TestKeysOfK9sCallThePlugin(t *testing.T) {
	file := struct {
		Plugins map[string]struct {
			ShortCut    string   `json:"shortCut"`
			Description string   `json:"description"`
			Scopes      []string `json:"scopes"`
			Command     string   `json:"command"`
			Args        []string `json:"args"`
		} `json:"plugins"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(recipe(t, "k9s-plugins.yaml"), &file))
	require.NotEmpty(t, file.Plugins)
	for name, plugin := range file.Plugins {
		require.Len(t, plugin.Scopes, len(served), name)
		for kind := range served {
			require.Contains(t, plugin.Scopes, kind[strings.LastIndex(kind, "/")+1:], name)
		}
		require.Equal(t, "-c", plugin.Args[0])
		require.Regexp(t, `^kubectl gj (why|logs|tree) \$RESOURCE_NAME/\$NAME --namespace \$NAMESPACE --context \$CONTEXT `, plugin.Args[1], name)
	}
}
