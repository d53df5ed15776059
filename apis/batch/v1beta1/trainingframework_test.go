package v1beta1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// definition is the smallest TrainingFramework.
func definition(edits ...func(*v1beta1.TrainingFramework)) *v1beta1.TrainingFramework {
	f := &v1beta1.TrainingFramework{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"},
		Spec: v1beta1.TrainingFrameworkSpec{
			Kind:       v1beta1.FrameworkKind{Group: "frameworks.example.com", Version: "v1", Kind: "JAXJob"},
			GenericJob: runtime.RawExtension{Raw: []byte(`{"replicaSpecs":[{"replicas":"${job.spec.n}"}]}`)},
		},
	}
	for _, edit := range edits {
		edit(f)
	}
	return f
}

func TestATrainingFrameworkKeepsItsTemplatesAsTheyAre(t *testing.T) {
	c := newClient(t)
	f := definition(func(f *v1beta1.TrainingFramework) {
		f.Spec.Status, f.Spec.Phase = &runtime.RawExtension{Raw: []byte(`{"state":"${observed.phase}"}`)}, "shown.state"
		f.Spec.Data = map[string]v1beta1.FrameworkText{"hosts": "${job.name}"}
	})
	require.NoError(t, c.Create(t.Context(), f))
	require.JSONEq(t, `{"replicaSpecs":[{"replicas":"${job.spec.n}"}]}`, string(f.Spec.GenericJob.Raw))
	require.JSONEq(t, `{"state":"${observed.phase}"}`, string(f.Spec.Status.Raw))

	f.Status.Revisions = []v1beta1.FrameworkRevision{{Name: "a", Spec: f.Spec}}
	require.NoError(t, c.Status().Update(t.Context(), f))
	require.JSONEq(t, string(f.Spec.GenericJob.Raw), string(f.Status.Revisions[0].Spec.GenericJob.Raw))
	require.Contains(t, kubectl(t, "get", "tfw"), "JAXJob")
}

func TestTheKindOfATrainingFrameworkStays(t *testing.T) {
	c := newClient(t)
	f := definition()
	require.NoError(t, c.Create(t.Context(), f))
	f.Spec.Kind.Version = "v2"
	err := c.Update(t.Context(), f)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "kind is immutable")
}

func TestTrainingFrameworksThatAreRefused(t *testing.T) {
	c := newClient(t)
	for want, edit := range map[string]func(*v1beta1.TrainingFramework){
		"status and phase belong together": func(f *v1beta1.TrainingFramework) { f.Spec.Phase = "shown.state" },
		"spec.kind.kind":                   func(f *v1beta1.TrainingFramework) { f.Spec.Kind.Kind = "jaxjob" },
		"spec.kind.group":                  func(f *v1beta1.TrainingFramework) { f.Spec.Kind.Group = "" },
		"spec.variables[0].name": func(f *v1beta1.TrainingFramework) {
			f.Spec.Variables = []v1beta1.FrameworkVariable{{Name: "a.b", Expression: "1"}}
		},
		"Duplicate value": func(f *v1beta1.TrainingFramework) {
			f.Spec.Variables = []v1beta1.FrameworkVariable{{Name: "a", Expression: "1"}, {Name: "a", Expression: "2"}}
		},
		"spec.validations[0].message": func(f *v1beta1.TrainingFramework) {
			f.Spec.Validations = []v1beta1.FrameworkValidation{{Expression: "true"}}
		},
		"may not be more than 4096 bytes": func(f *v1beta1.TrainingFramework) { f.Spec.RunPolicy = strings.Repeat("x", 4097) },
		"the operator makes only kinds whose status is a TrainingJobStatus": func(f *v1beta1.TrainingFramework) {
			f.Spec.Schema, f.Spec.Status, f.Spec.Phase = schemaOfJobs(), &runtime.RawExtension{Raw: []byte(`{}`)}, "'Running'"
		},
		"spec.kind.group: Invalid value: the operator makes no kind": withSchemaIn("apps"),
		"the operator makes no kind in a group of Kubernetes":        withSchemaIn("networking.k8s.io"),
		"or of its own":                  withSchemaIn("batch.tensorstack.dev"),
		"no kind in a group of":          withSchemaIn("jobset.x-k8s.io"),
		"name a group of yours":          withSchemaIn("kubernetes.io"),
		"schema in body must be of type": func(f *v1beta1.TrainingFramework) { f.Spec.Schema = &runtime.RawExtension{Raw: []byte(`"x"`)} },
	} {
		err := c.Create(t.Context(), definition(edit))
		require.True(t, apierrors.IsInvalid(err), "%s: %v", want, err)
		require.Contains(t, inNewWords.Replace(err.Error()), want)
	}
}

// inNewWords puts what older apiservers say of a refusal into the words of newer ones.
var inNewWords = strings.NewReplacer(`Invalid value: "object": `, "Invalid value: ", "may not be longer than 4096", "may not be more than 4096 bytes")

func schemaOfJobs() *runtime.RawExtension {
	return &runtime.RawExtension{Raw: []byte(`{"type":"object","properties":{"template":{"$ref":"PodTemplateSpec"}}}`)}
}

func withSchemaIn(group string) func(*v1beta1.TrainingFramework) {
	return func(f *v1beta1.TrainingFramework) { f.Spec.Kind.Group, f.Spec.Schema = group, schemaOfJobs() }
}

func TestATrainingFrameworkMayBringItsSchema(t *testing.T) {
	c := newClient(t)
	for _, group := range []string{"frameworks.example.com", "kubeflow.org", "notk8s.io"} {
		f := definition(withSchemaIn(group))
		require.NoError(t, c.Create(t.Context(), f), group)
		require.JSONEq(t, string(schemaOfJobs().Raw), string(f.Spec.Schema.Raw))
	}
}
