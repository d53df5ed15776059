package verbs_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// installJAX gives the cluster the kind of the catalog's definition.
func (s *space) installJAX() {
	s.t.Helper()
	raw, err := os.ReadFile("deploy/frameworks/jax/crd.yaml")
	require.NoError(s.t, err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(s.t, yaml.UnmarshalStrict(raw, crd))
	require.NoError(s.t, client.IgnoreAlreadyExists(s.Create(s.t.Context(), crd)))
	until(s.t, "the kind is served", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("frameworks.example.com/v1alpha1")
		list.SetKind("JAXJobList")
		return s.List(s.t.Context(), list, client.InNamespace(s.ns)) == nil
	})
}

// jax creates a job of that kind.
func (s *space) jax(name string) *unstructured.Unstructured {
	s.t.Helper()
	job := &unstructured.Unstructured{}
	require.NoError(s.t, yaml.Unmarshal([]byte(`{apiVersion: frameworks.example.com/v1alpha1, kind: JAXJob, spec: {template: {spec: {containers: [{name: jax, image: i}]}}}}`), &job.Object))
	job.SetName(name)
	job.SetNamespace(s.ns)
	require.NoError(s.t, s.Create(s.t.Context(), job))
	return job
}

// shows writes the status of a job of that kind.
func (s *space) shows(job *unstructured.Unstructured, status string) {
	s.t.Helper()
	var value map[string]any
	require.NoError(s.t, yaml.Unmarshal([]byte(status), &value))
	job.Object["status"] = value
	require.NoError(s.t, s.Status().Update(s.t.Context(), job))
}

// A job of a kind that a definition serves is looked at and steered as one of the kinds that the program knows.
func TestAJobOfAKindThatADefinitionServes(t *testing.T) {
	s := newSpace(t)
	s.installJAX()
	job := s.jax("train")
	made := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: s.ns, Annotations: map[string]string{v1beta1.AnnotationCompiledGeneration: "1"}, OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(job, job.GroupVersionKind())}}}
	made.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "process", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "jax", Image: "i"}}}}}}
	require.NoError(t, s.Create(t.Context(), made))
	s.setStatus(made, phase(v1beta1.JobRunning))
	s.shows(job, "{phase: Running, observedGeneration: 1, conditions: [{type: Running, status: 'True', reason: Running, message: all run, lastTransitionTime: '2026-01-01T00:00:00Z'}, {type: Blocked, status: 'True', reason: CreateFailed, message: it is held, lastTransitionTime: '2026-01-01T00:00:00Z'}]}")

	for _, name := range []string{"train", "jax/train", "jaxjob/train", "jaxjobs/train", "JAXJobs.frameworks.example.com/train", "gj/train"} {
		out := s.sees("tree", name)
		require.Contains(t, out, "\nJAXJob/train ", name)
		require.Contains(t, out, "\n└─ GenericJob/train ", name)
	}
	require.Contains(t, s.sees("why", "train"), "it is held")
	until(t, "it is offered", func() bool { return strings.Contains(s.sees("__complete", "tree", "tr"), "train\tJAXJob\n") })
	s.sees("wait", "train", "--for=running")
	s.sees("pause", "jax/train")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	paused, _, _ := unstructured.NestedBool(job.Object, "spec", "runMode", "pause", "enabled")
	require.True(t, paused)
	_, problem, code := s.types("debug", "jax/train", "--shell", "process-0")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "JAXJob/train is paused, so process-0 has no pod")
	_, problem, code = s.types("scale", "jax/train", "3")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "is known to its TrainingFramework alone")

	s.shows(s.jax("refused"), "{phase: Failed, conditions: [{type: Failed, status: 'True', reason: InvalidSpec, message: no process, lastTransitionTime: '2026-01-01T00:00:00Z'}]}")
	require.Contains(t, s.sees("why", "jax/refused"), "no process")
	_, _, code = s.types("wait", "jax/refused")
	require.Equal(t, 1, code)

	for name, says := range map[string]string{"deployment/x": `"deployment" is no kind of job`, "nope/x": `"nope" is no kind of job`} {
		_, problem, code := s.types("tree", name)
		require.Equal(t, 2, code, problem)
		require.Contains(t, problem, says)
	}
}

// TestAJobOfAKindWithoutADefinitionSaysSo: its CRD is there, and nobody serves it.
func TestAJobOfAKindWithoutADefinitionSaysSo(t *testing.T) {
	s := newSpace(t)
	s.installJAX()
	job := s.jax("lonely")
	require.Contains(t, s.sees("why", "jax/lonely"), "No TrainingFramework serves the kind JAXJob. Nothing is made of the job. Have a cluster admin apply a definition of the kind")
	made := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "lonely", Namespace: s.ns, Annotations: map[string]string{v1beta1.AnnotationFrameworkRevision: "0123456789", v1beta1.AnnotationCompiledGeneration: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, job.GroupVersionKind())}}}
	made.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "process", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "jax", Image: "i"}}}}}}
	require.NoError(t, s.Create(t.Context(), made))
	s.setStatus(made, phase(v1beta1.JobRunning))
	s.shows(job, "{phase: Pending}")
	require.Contains(t, s.sees("why", "jax/lonely"), "No TrainingFramework serves the kind JAXJob. The job goes on as a GenericJob, which is Running, but what the job shows stands still")

	raw, err := os.ReadFile("deploy/frameworks/jax/framework.yaml")
	require.NoError(t, err)
	f := &v1beta1.TrainingFramework{}
	require.NoError(t, yaml.UnmarshalStrict(raw, f))
	f.Name = "lonely"
	require.NoError(t, s.Create(t.Context(), f))
	t.Cleanup(func() { _ = s.Delete(context.Background(), f) })
	f.Status.Conditions = []metav1.Condition{{Type: v1beta1.FrameworkServing, Status: metav1.ConditionFalse, Reason: v1beta1.ReasonRightsMissing, Message: "The operator may not: list jaxjobs.", LastTransitionTime: metav1.Now()}}
	require.NoError(t, s.Status().Update(t.Context(), f))
	require.Contains(t, s.sees("why", "jax/lonely"), "TrainingFramework lonely does not serve the kind JAXJob: The operator may not: list jaxjobs. The job goes on")
	f.Status.Conditions[0].Status, f.Status.Conditions[0].Reason = metav1.ConditionTrue, v1beta1.ReasonServing
	require.NoError(t, s.Status().Update(t.Context(), f))
	require.NotContains(t, s.sees("why", "jax/lonely"), "TrainingFramework")
}
