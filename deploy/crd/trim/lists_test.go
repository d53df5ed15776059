package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	mpi "github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// mostGrowth is how many bytes of memory one byte of JSON may become in a list or map without a bound of its own. A word in a
// list of texts is 5; a label is 6.
const mostGrowth = 7

// TestNoListOfAnyKindGrowsManyfoldInMemory compares, for each list and map of each kind, what its smallest entry takes as JSON
// with what it takes in memory.
func TestNoListOfAnyKindGrowsManyfoldInMemory(t *testing.T) {
	kinds := typesOfKinds(t)
	lists := 0
	for _, pattern := range []string{"crd/*_*.yaml", "kubeflow/crd/*_*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", pattern))
		require.NoError(t, err)
		for _, file := range files {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			var crd apiextensionsv1.CustomResourceDefinition
			require.NoError(t, yaml.Unmarshal(raw, &crd))
			of, known := kinds[crd.Spec.Names.Kind]
			require.True(t, known, "%s: no type in apis is called %s", file, crd.Spec.Names.Kind)
			delete(kinds, crd.Spec.Names.Kind)
			lists += compareVersions(t, raw, of)
		}
	}
	require.Empty(t, kinds, "no CRD has them")
	require.Greater(t, lists, 1000)
}

// typesOfKinds are the types of all kinds of apis, by name.
func typesOfKinds(t *testing.T) map[string]reflect.Type {
	t.Helper()
	kinds := map[string]reflect.Type{}
	for version, add := range map[schema.GroupVersion]func(*runtime.Scheme) error{
		v1beta1.GroupVersion: v1beta1.AddToScheme, kubeflow.GroupVersion: kubeflow.AddToScheme, mpi.GroupVersion: mpi.AddToScheme,
	} {
		scheme := runtime.NewScheme()
		require.NoError(t, add(scheme))
		for kind, of := range scheme.KnownTypes(version) {
			if scheme.Recognizes(version.WithKind(kind + "List")) {
				kinds[kind] = of
			}
		}
	}
	return kinds
}

// compareVersions compares the specs of all served versions of a CRD with a type.
func compareVersions(t *testing.T, raw []byte, kind reflect.Type) int {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Served bool `json:"served"`
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	require.NoError(t, yaml.Unmarshal(raw, &crd))
	lists := 0
	for _, version := range crd.Spec.Versions {
		if !version.Served { // nobody can write it
			continue
		}
		spec := version.Schema.OpenAPIV3Schema["properties"].(map[string]any)["spec"].(map[string]any)
		ours, found := kind.FieldByName("Spec")
		require.True(t, found)
		lists += compare(t, kind.Name()+".spec", spec, ours.Type)
	}
	return lists
}

// compare looks at every list and map below a schema and the type that it is read into, and returns how many there are.
func compare(t *testing.T, path string, schema map[string]any, into reflect.Type) int {
	t.Helper()
	for into.Kind() == reflect.Pointer {
		into = into.Elem()
	}
	items, isList := schema["items"].(map[string]any)
	values, isMap := schema["additionalProperties"].(map[string]any)
	n := 0
	switch {
	case isList:
		if schema["maxItems"] == nil {
			require.LessOrEqual(t, int(into.Elem().Size()), mostGrowth*(shortest(items, keys(schema))+len(",")), "%s: give it maxItems", path)
		}
		n = 1 + compare(t, path+"[]", items, into.Elem())
	case isMap:
		if schema["maxProperties"] == nil { // keys differ, and a map is half empty
			require.LessOrEqual(t, 2*int(into.Key().Size()+into.Elem().Size()), mostGrowth*(shortest(values, nil)+len(`"abcd":,`)), "%s: give it maxProperties", path)
		}
		n = 1 + compare(t, path+"{}", values, into.Elem())
	case into.Kind() == reflect.Struct:
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			of := fieldOf(into, name)
			require.NotNil(t, of, "%s.%s is in no field of %s", path, name, into)
			n += compare(t, path+"."+name, property.(map[string]any), of)
		}
	}
	return n
}

// fieldOf is the type of the field that has a name in JSON.
func fieldOf(of reflect.Type, name string) reflect.Type {
	for i := range of.NumField() {
		field := of.Field(i)
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case tag == name:
			return field.Type
		case tag == "" && field.Anonymous:
			if found := fieldOf(field.Type, name); found != nil {
				return found
			}
		}
	}
	return nil
}

// keys are the fields by which the entries of a list must differ.
func keys(schema map[string]any) []any {
	names, _ := schema["x-kubernetes-list-map-keys"].([]any)
	return names
}

// shortest is the length of the shortest JSON that a schema lets in. Distinct are fields that cannot be short, as no two
// entries of a list may have the same.
func shortest(schema map[string]any, distinct []any) int {
	switch schema["type"] {
	case "object":
		n := len("{}")
		required, _ := schema["required"].([]any)
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range required {
			property, _ := properties[name.(string)].(map[string]any)
			n += len(`"":,`) + len(name.(string)) + shortest(property, nil)
		}
		return n + 2*len(distinct)
	case "array", "string":
		return len("[]")
	case "boolean":
		return len("true")
	default:
		return len("0")
	}
}
