package definition_test

import (
	"os"
	"path/filepath"
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

// jaxDefinition is the definition of the catalog, checked against the CRD of the extension that is written in Go.
func jaxDefinition(t testing.TB) (*v1beta1.TrainingFrameworkSpec, definition.Schemas) {
	t.Helper()
	f := load[v1beta1.TrainingFramework](t, "../../deploy/frameworks/jax/framework.yaml")
	crd := load[apiextensionsv1.CustomResourceDefinition](t, extension+"deploy/frameworks.example.com_jaxjobs.yaml")
	schemas, err := definition.SchemasOf(crd, f.Spec.Kind)
	require.NoError(t, err)
	return &f.Spec, schemas
}

// TestJAXAsADefinitionIsJAXInGo: the golden files are those of the extension.
func TestJAXAsADefinitionIsJAXInGo(t *testing.T) {
	spec, schemas := jaxDefinition(t)
	for name, s := range map[string]definition.Schemas{"with a schema": schemas, "without": {}} {
		t.Run(name, func(t *testing.T) {
			d, err := definition.New(spec, s)
			require.NoError(t, err)
			translatortest.GoldenIn(t, extension+"jax/testdata", d.Registration())
		})
	}
}
