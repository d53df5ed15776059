package integrations

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

// conditions are those of a resource template of Argo's.
type conditions struct {
	Success string `json:"successCondition"`
	Failure string `json:"failureCondition"`
}

// argoConditions are those of deploy/integrations/argo.yaml, by the name of their template.
func argoConditions(t *testing.T) map[string]conditions {
	t.Helper()
	found := map[string]conditions{}
	for _, document := range bytes.Split(recipe(t, "argo.yaml"), []byte("\n---\n")) {
		workflow := struct {
			Spec struct {
				Templates []struct {
					Name     string      `json:"name"`
					Resource *conditions `json:"resource"`
				} `json:"templates"`
			} `json:"spec"`
		}{}
		require.NoError(t, yaml.Unmarshal(document, &workflow))
		for _, template := range workflow.Spec.Templates {
			if template.Resource != nil {
				found[template.Name] = *template.Resource
			}
		}
	}
	return found
}

// byArgo is what becomes of a step. The rules are those of Argo's executor, in the libraries that it uses. A condition is a label selector whose keys
// are paths into the object. The step fails if any part of the failure condition holds, and succeeds if all of the success condition do.
func byArgo(t *testing.T, c conditions, job *unstructured.Unstructured) string {
	t.Helper()
	text, err := job.MarshalJSON()
	require.NoError(t, err)
	for _, requirement := range requirements(t, c.Failure) {
		if requirement.Matches(object(text)) {
			return "Failed"
		}
	}
	for _, requirement := range requirements(t, c.Success) {
		if !requirement.Matches(object(text)) {
			return "Running"
		}
	}
	return "Succeeded"
}

func requirements(t *testing.T, condition string) labels.Requirements {
	t.Helper()
	selector, err := labels.Parse(condition)
	require.NoError(t, err)
	list, selectable := selector.Requirements()
	require.True(t, selectable)
	require.NotEmpty(t, list)
	return list
}

// object is JSON whose fields are looked up as labels are.
type object []byte

func (o object) Has(path string) bool   { return gjson.GetBytes(o, path).Exists() }
func (o object) Get(path string) string { return gjson.GetBytes(o, path).String() }
func (o object) Lookup(path string) (string, bool) {
	return o.Get(path), o.Has(path)
}
