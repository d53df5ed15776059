// Package kueuetest checks what tests take for a Workload of Kueue's against Kueue's own definition of it.
package kueuetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// budget is what the rules of a CRD may cost: an apiserver's own is not exported.
const budget = 10_000_000

// Problems returns what Kueue's CRD has against a field of a Workload. These are names that it does not know, values that it does not take,
// and rules that are broken. The test is skipped without the CRD.
func Problems(t *testing.T, w *unstructured.Unstructured, path ...string) (problems []string) {
	t.Helper()
	props := propsOf(t, w.GroupVersionKind().Version)
	value, ok, err := unstructured.NestedFieldCopy(w.Object, path...)
	require.NoError(t, err)
	require.True(t, ok, "there is no %v", path)
	for _, name := range path {
		next := props.Properties[name]
		props = &next
	}
	structural, err := schema.NewStructural(props)
	require.NoError(t, err)
	validator, _, err := validation.NewSchemaValidator(props)
	require.NoError(t, err)
	for _, problem := range validation.ValidateCustomResource(nil, value, validator) {
		problems = append(problems, problem.Error())
	}
	broken, _ := cel.NewValidator(structural, false, budget).Validate(t.Context(), nil, structural, value, nil, budget)
	for _, problem := range broken {
		problems = append(problems, problem.Error())
	}
	options := schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
	for _, name := range pruning.PruneWithOptions(value, structural, false, options) {
		problems = append(problems, "unknown field "+name)
	}
	return problems
}

// propsOf returns the schema of a version of Kueue's Workload.
func propsOf(t *testing.T, version string) *apiextensions.JSONSchemaProps {
	t.Helper()
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party cases (its sub-folder schedulers is read)")
	}
	text, err := os.ReadFile(filepath.Join(folder, "schedulers", "kueue-workloads.yaml"))
	require.NoError(t, err)
	crd := &v1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(text, crd))
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			props := &apiextensions.JSONSchemaProps{}
			require.NoError(t, v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, props, nil))
			return props
		}
	}
	require.Fail(t, "the CRD has no version "+version)
	return nil
}
