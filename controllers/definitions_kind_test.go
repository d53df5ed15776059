package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// schemaOfJAX is what a definition says of its kind instead of a CRD.
const schemaOfJAX = `schema:
    type: object
    required: [template]
    properties:
      replicas: {type: integer, minimum: 1, maximum: 10000}
      template: {$ref: PodTemplateSpec}
      runPolicy: {$ref: RunPolicy}
      runMode: {$ref: RunMode}
      scheduler: {$ref: SchedulePolicy}
  validations:`

func (c *cluster) crd(kind v1beta1.FrameworkKind) *apiextensionsv1.CustomResourceDefinition {
	c.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: strings.ToLower(kind.Kind) + "s." + kind.Group}, crd))
	return crd
}

// TestADefinitionBringsItsKind is the life of a kind that the operator makes: it outlives its definition.
func TestADefinitionBringsItsKind(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("MadeJob")
	c.define("made", kind, "validations:", schemaOfJAX)
	c.awaitDefinition("made", v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted)
	c.awaitDefinition("made", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonRightsMissing)
	c.grantKind(kind)
	c.awaitDefinition("made", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "one", "[]")
	c.awaitJAX(job, v1beta1.JobRunning)
	wrong := job.DeepCopy()
	wrong.SetName("wrong")
	wrong.SetResourceVersion("")
	require.NoError(t, unstructured.SetNestedField(wrong.Object, int64(0), "spec", "replicas"))
	require.ErrorContains(t, c.Create(c.ctx, wrong), "spec.replicas in body should be greater than or equal to 1")

	// A field that comes changes no job; none goes.
	before := c.job("one")
	c.define("made", kind, "validations:", strings.Replace(schemaOfJAX, "properties:", "properties:\n      comment: {type: string}", 1))
	c.until("the kind has the field", func() bool {
		_, has := c.crd(kind).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["comment"]
		return has
	})
	c.awaitDefinition("made", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	made := c.crd(kind)
	c.define("made", kind, "validations:", schemaOfJAX)
	_, message := c.awaitDefinition("made", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.schema.properties.comment: is taken away, but jobs that there are may have it")
	require.Equal(t, made.Generation, c.crd(kind).Generation)
	require.Equal(t, before.Generation, c.job("one").Generation)
	c.awaitJAX(c.submitJAX(kind, "two", "[]"), v1beta1.JobRunning)

	require.NoError(t, c.Delete(c.ctx, &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: "made"}}))
	c.until("nobody watches the kind", func() bool { return c.watches("madejobs") == 0 })
	require.Empty(t, c.crd(kind).OwnerReferences)
	require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
	require.Nil(t, job.GetDeletionTimestamp())

	c.define("again", kind, "validations:", strings.Replace(schemaOfJAX, "properties:", "properties:\n      comment: {type: string}", 1))
	c.awaitDefinition("again", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	require.Equal(t, made.Generation, c.crd(kind).Generation)
	c.awaitJAX(c.submitJAX(kind, "three", "[]"), v1beta1.JobRunning)
}

func TestAKindThatSomebodyElseMadeIsNotTouched(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("TheirJob")
	c.installKind(kind)
	c.grantKind(kind)
	theirs := c.crd(kind)
	c.define("theirs", kind, "validations:", strings.Replace(schemaOfJAX, "      runPolicy: {$ref: RunPolicy}\n", "", 1), "  runPolicy: job.spec.?runPolicy", "")
	_, message := c.awaitDefinition("theirs", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
	require.Contains(t, message, "CustomResourceDefinition theirjobs.theirjob.example.com is there, and the operator has not made it")
	c.awaitDefinition("theirs", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonNotAccepted)
	require.Equal(t, theirs.Generation, c.crd(kind).Generation)
	require.Equal(t, theirs.Annotations, c.crd(kind).Annotations)

	c.define("theirs", kind)
	c.awaitDefinition("theirs", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
}

func TestASchemaThatTheApiserverRefuses(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("RefusedJob")
	rule := "properties:\n      comment: {type: string, x-kubernetes-validations: [{rule: self.nope}]}"
	c.define("refused", kind, "validations:", strings.Replace(schemaOfJAX, "properties:", rule, 1))
	_, message := c.awaitDefinition("refused", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.schema: CustomResourceDefinition")
	require.Contains(t, message, "nope")
	c.define("refused", kind, "validations:", schemaOfJAX)
	c.grantKind(kind)
	c.awaitDefinition("refused", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
}
