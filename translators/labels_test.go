package translators_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// Who pays for pods is found by their labels. Those of a template come through the translator of each kind, to all of its replica types. kernel/build
// tests that the pods have what a GenericJob's template has.
func TestLabelsOfATemplateReachEveryReplica(t *testing.T) {
	for _, r := range append(translators.All(), kubeflow.All("", true)...) {
		kind := reflect.TypeOf(r.New()).Elem().Name()
		spec := map[string]any{}
		require.NoError(t, yaml.Unmarshal([]byte(good[kind]), &spec), kind)
		require.NotEmpty(t, spec, "%s: no job", kind)
		requireLabels(t, kind, r, spec, trainers)
	}
}

func TestLabelsOfATemplateReachEveryReplicaOfTheCatalog(t *testing.T) {
	folders, err := filepath.Glob("../deploy/frameworks/*/framework.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, folders)
	for _, file := range folders {
		folder := filepath.Dir(file)
		f, crd := &v1beta1.TrainingFramework{}, &apiextensionsv1.CustomResourceDefinition{}
		read(t, file, f)
		read(t, folder+"/crd.yaml", crd)
		schemas, err := definition.SchemasOf(crd, f.Spec.Kind)
		require.NoError(t, err)
		d, err := definition.New(&f.Spec, schemas)
		require.NoError(t, err)
		sample := map[string]any{}
		read(t, folder+"/sample.yaml", &sample)
		requireLabels(t, f.Spec.Kind.Kind, d.Registration(), sample["spec"].(map[string]any), "")
	}
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, into), file)
}

// requireLabels compiles a job all of whose templates have a label and an annotation. Template is what stands for T in the spec.
func requireLabels(t *testing.T, kind string, r framework.Registration, spec map[string]any, template string) {
	t.Helper()
	var pod map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(template), &pod))
	labelled := 0
	label(withTemplate(spec, pod), &labelled)
	require.Positive(t, labelled, kind)
	raw, err := yaml.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	job := r.New()
	require.NoError(t, yaml.Unmarshal(raw, job))
	job.SetName("job")
	job.SetNamespace("ns")
	program, err := r.Compile(job)
	require.NoError(t, err, kind)
	require.NotEmpty(t, program.Spec.ReplicaSpecs)
	for i := range program.Spec.ReplicaSpecs {
		of := &program.Spec.ReplicaSpecs[i]
		require.Equal(t, "vision", of.Template.Labels["example.com/team"], "%s: %s", kind, of.Type)
		require.Equal(t, "4711", of.Template.Annotations["example.com/cost-center"], "%s: %s", kind, of.Type)
	}
}

// label gives each template a label and an annotation.
func label(node any, labelled *int) {
	switch n := node.(type) {
	case map[string]any:
		for _, child := range n {
			label(child, labelled)
		}
		if pod, ok := n["spec"].(map[string]any); ok && pod["containers"] != nil {
			n["metadata"] = map[string]any{
				"labels": map[string]any{"example.com/team": "vision"}, "annotations": map[string]any{"example.com/cost-center": "4711"},
			}
			*labelled++
		}
	case []any:
		for _, child := range n {
			label(child, labelled)
		}
	}
}
