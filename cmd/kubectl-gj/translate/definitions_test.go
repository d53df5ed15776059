package translate_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

const (
	frameworkFile = "../../../deploy/frameworks/jax/framework.yaml"
	crdFile       = "../../../deploy/frameworks/jax/crd.yaml"
	jobFile       = "../../../e2e/extension/sample.yaml"
)

// together returns files as one manifest, with this in place of that.
func together(t *testing.T, edits []string, files ...string) io.Reader {
	t.Helper()
	var text strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		text.WriteString(string(raw) + "\n---\n")
	}
	return strings.NewReader(strings.NewReplacer(edits...).Replace(text.String()))
}

func TestADefinitionCompilesTheJobsOfItsKind(t *testing.T) {
	for _, files := range [][]string{{frameworkFile, crdFile, jobFile}, {jobFile, crdFile, frameworkFile}} {
		made, skipped, err := translate.Read(together(t, nil, files...), true)
		require.NoError(t, err)
		require.Empty(t, skipped)
		require.Len(t, made, 2)
		require.Equal(t, []string{"TrainingFramework/jax"}, made[0].Lines())
		require.NoError(t, made[1].Err)
		kinds := map[string]int{}
		for _, o := range made[1].Objects {
			kinds[fmt.Sprintf("%T", o)]++
		}
		require.Equal(t, map[string]int{"*v1beta1.GenericJob": 1, "*v1.Service": 1, "*v1.Pod": 3}, kinds)
		require.Equal(t, "JAXJob", made[1].Objects[0].GetOwnerReferences()[0].Kind)
	}
}

// TestADefinitionWithASchemaHasItsCRD, which an admin applies where the operator may not make it.
func TestADefinitionWithASchemaHasItsCRD(t *testing.T) {
	const own = "schema: {type: object, required: [template], properties: {replicas: {type: integer, minimum: 1}, template: {$ref: PodTemplateSpec}, runPolicy: {$ref: RunPolicy}, runMode: {$ref: RunMode}, scheduler: {$ref: SchedulePolicy}}}\n  validations:"
	made, _, err := translate.Read(together(t, []string{"validations:", own}, frameworkFile, jobFile), false)
	require.NoError(t, err)
	require.NoError(t, made[0].Err)
	require.Equal(t, []string{"TrainingFramework/jax", "└─ CustomResourceDefinition/jaxjobs.frameworks.example.com"}, made[0].Lines())
	crd := made[0].Objects[0].(*unstructured.Unstructured)
	require.NotContains(t, crd.Object, "status")
	require.NotEmpty(t, crd.GetAnnotations()[v1beta1.AnnotationSchema], "by this the operator knows it")
	require.NoError(t, made[1].Err)
}

func TestMistakesOfADefinitionAndOfItsJobs(t *testing.T) {
	mistake := []string{"job.spec.?replicas", "job.spec.?replica", "restartScope: Job", "restartScop: Job"}
	made, skipped, err := translate.Read(together(t, mistake, frameworkFile, crdFile, jobFile), false)
	require.NoError(t, err)
	require.Empty(t, skipped)
	require.Len(t, made, 1, "nobody compiles the job")
	require.Equal(t, []string{"TrainingFramework/jax", "└─ ERROR: spec.genericJob.replicaSpecs[0].replicas: undefined field 'replica' (character 9)\n" +
		"          spec.genericJob.restartScop: there is no such field"}, made[0].Lines())

	mistake = []string{"?replicas.orValue(1)", "replicas", "'OnFailure'", "'Onfailure'"}
	made, _, err = translate.Read(together(t, mistake, frameworkFile, crdFile), false)
	require.NoError(t, err)
	require.ErrorContains(t, made[0].Err, "spec.genericJob.replicaSpecs[0].replicas: a job may leave out replicas")
	require.ErrorContains(t, made[0].Err, "restartPolicy.policy: is Onfailure: ")

	made, _, err = translate.Read(together(t, []string{"?replicas", "?replica"}, frameworkFile, jobFile), false)
	require.NoError(t, err)
	require.NoError(t, made[0].Err, "without the CRD")
	require.Equal(t, []string{"what expressions say of job.spec is not checked: give the CRD of JAXJob by another -f"}, made[0].Warnings)

	made, _, err = translate.Read(together(t, []string{"- name: jax", "- name: main"}, frameworkFile, jobFile), false)
	require.NoError(t, err)
	require.EqualError(t, made[1].Err, "spec.template.spec.containers: none is named jax: rename the one that trains")
}
