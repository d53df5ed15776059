package definition_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/translatortest"
)

const extension = "../../e2e/extension/"

func load[T any](t testing.TB, file string) *T {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(file))
	require.NoError(t, err)
	out := new(T)
	require.NoError(t, yaml.UnmarshalStrict(raw, out))
	return out
}

// catalog is where the definitions are that come with the operator.
const catalog = "../../deploy/frameworks/"

// goldens are the folders with the cases of each. Those of JAX are the ones of its translator in Go.
var goldens = map[string]string{"jax": extension + "jax/testdata", "xgboost": "testdata/xgboost", "mpi": "testdata/mpi"}

// definitionOf is a definition of the catalog, with the schemas of its kind.
func definitionOf(t testing.TB, name string) (*v1beta1.TrainingFrameworkSpec, definition.Schemas) {
	t.Helper()
	f := load[v1beta1.TrainingFramework](t, catalog+name+"/framework.yaml")
	schemas, err := definition.SchemasOf(load[apiextensionsv1.CustomResourceDefinition](t, catalog+name+"/crd.yaml"), f.Spec.Kind)
	require.NoError(t, err)
	return &f.Spec, schemas
}

// TestTheCatalog compiles the cases of each definition, with the schema of its kind and without. What is compiled is the same.
func TestTheCatalog(t *testing.T) {
	folders, err := os.ReadDir(catalog)
	require.NoError(t, err)
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		name := folder.Name()
		require.Contains(t, goldens, name)
		spec, schemas := definitionOf(t, name)
		for how, s := range map[string]definition.Schemas{"with a schema": schemas, "without": {}} {
			t.Run(name+" "+how, func(t *testing.T) {
				d, err := definition.New(spec, s)
				require.NoError(t, err)
				translatortest.GoldenIn(t, goldens[name], d.Registration())
				sample, err := os.ReadFile(catalog + name + "/sample.yaml")
				require.NoError(t, err)
				_, err = d.Registration().Compile(translatortest.Decode(t, d.Registration(), sample))
				require.NoError(t, err)
			})
		}
	}
}

// TestJAXIsShort: who knows the Go translator reads the definition in one go.
func TestJAXIsShort(t *testing.T) {
	raw, err := os.ReadFile(catalog + "jax/framework.yaml")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(raw), "\n"), 60)
}
