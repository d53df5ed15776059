package gitops

import (
	"os"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// byKstatus is what Helm and Flux take an object for.
func byKstatus(t *testing.T, u *unstructured.Unstructured) (is, message string) {
	t.Helper()
	result, err := status.Compute(u)
	require.NoError(t, err)
	return string(result.Status), result.Message
}

// flux is Flux with expressions of a Kustomization.
type flux []kustomize.CustomHealthCheck

func newFlux(t *testing.T, file string) flux {
	t.Helper()
	text, err := os.ReadFile("../../deploy/gitops/" + file)
	require.NoError(t, err)
	spec := struct {
		HealthCheckExprs flux `json:"healthCheckExprs"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(text, &spec))
	return spec.HealthCheckExprs
}

// takesFor is what Flux takes an object for; Unknown if an expression has an error.
func (f flux) takesFor(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	for i := range f {
		if f[i].APIVersion != u.GetAPIVersion() || f[i].Kind != u.GetKind() {
			continue
		}
		evaluator, err := cel.NewStatusEvaluator(&f[i].HealthCheckExpressions)
		require.NoError(t, err)
		result, err := evaluator.Evaluate(t.Context(), u)
		if err != nil {
			return string(status.UnknownStatus)
		}
		return string(result.Status)
	}
	is, _ := byKstatus(t, u)
	return is
}
