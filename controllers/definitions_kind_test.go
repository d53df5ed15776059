package controllers_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
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

	// A field that comes changes no job.
	before := c.job("one")
	c.define("made", kind, "validations:", strings.Replace(schemaOfJAX, "properties:", "properties:\n      comment: {type: string}", 1))
	c.until("the kind has the field", func() bool {
		_, has := c.crd(kind).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["comment"]
		return has
	})
	c.awaitDefinition("made", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	made := c.crd(kind)
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

const schemasBinding = "genericjob-framework-schemas"

// mayNotWriteCRDs takes the right to make kinds from the operator until the test's end.
func (c *cluster) mayNotWriteCRDs() {
	c.t.Helper()
	binding := &rbacv1.ClusterRoleBinding{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: schemasBinding}, binding))
	require.NoError(c.t, c.Delete(c.ctx, binding))
	c.t.Cleanup(func() {
		binding.ResourceVersion, binding.UID = "", ""
		require.NoError(c.t, c.Create(context.Background(), binding))
	})
}

// TestAnAdminAppliesTheCRDThatTheOperatorMayNotMake: by default the operator has no right on CRDs, and says who has to do what.
func TestAnAdminAppliesTheCRDThatTheOperatorMayNotMake(t *testing.T) {
	c := newCluster(t)
	c.mayNotWriteCRDs()
	c.operate(operation{definitions: true})
	kind := newKind("AppliedJob")
	c.define("applied", kind, "validations:", schemaOfJAX)
	f, message := c.awaitDefinition("applied", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonRightsMissing)
	require.Contains(t, message, "A cluster admin must apply the CRD of spec.schema")
	require.Contains(t, message, "kubectl gj translate -f FILE -o yaml")
	require.True(t, meta.IsStatusConditionTrue(f.Status.Conditions, v1beta1.FrameworkReconciling))
	apply := func(f *v1beta1.TrainingFramework) {
		made, err := definition.CRDFor(&f.Spec)
		require.NoError(t, err)
		have := &apiextensionsv1.CustomResourceDefinition{}
		if c.Get(c.ctx, client.ObjectKeyFromObject(made), have) == nil {
			made.ResourceVersion = have.ResourceVersion
			require.NoError(t, c.Update(c.ctx, made))
			return
		}
		require.NoError(t, c.Create(c.ctx, made))
	}
	apply(f)
	c.grantKind(kind)
	c.awaitDefinition("applied", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.awaitJAX(c.submitJAX(kind, "one", "[]"), v1beta1.JobRunning)

	f = c.define("applied", kind, "validations:", strings.Replace(schemaOfJAX, "properties:", "properties:\n      comment: {type: string}", 1))
	_, message = c.awaitDefinition("applied", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonRightsMissing)
	require.Contains(t, message, "A cluster admin must apply the CRD of spec.schema")
	require.Contains(t, message, "Until this is mended, jobs are compiled by revision ")
	apply(f)
	c.awaitDefinition("applied", v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted)
	c.awaitDefinition("applied", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
}

// TestASchemaBecomesNarrowerOnceNoJobIsInTheWay: a job that no longer fitted could not be paused.
func TestASchemaBecomesNarrowerOnceNoJobIsInTheWay(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("NarrowJob")
	define := func(replace ...string) {
		c.define("narrow", kind, "validations:", strings.NewReplacer(replace...).Replace(strings.Replace(schemaOfJAX, "properties:", "properties:\n      comment: {type: string}", 1)))
	}
	define()
	c.grantKind(kind)
	c.awaitDefinition("narrow", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "uses", "[]")
	c.awaitJAX(job, v1beta1.JobRunning)
	edit := func(value any, fields ...string) {
		c.until("the edit is taken", func() bool {
			require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
			require.NoError(t, unstructured.SetNestedField(job.Object, value, fields...))
			return c.Update(c.ctx, job) == nil
		})
	}
	edit("a comment", "spec", "comment")
	made := c.crd(kind)

	for name, tc := range map[string]struct{ edit, instead, what, why string }{
		"a field":        {"      comment: {type: string}\n", "", "spec.schema.properties.comment: is taken away, but jobs that there are may have it", "uses is in the way: it has spec.comment"},
		"a length":       {"comment: {type: string}", "comment: {type: string, maxLength: 3}", "spec.schema.properties.comment.maxLength: is 3", "uses is in the way: spec.comment: may not be more than 3"},
		"a pattern":      {"comment: {type: string}", "comment: {type: string, pattern: '^x'}", "spec.schema.properties.comment.pattern: has changed", "uses is in the way: spec.comment: spec.comment in body should match '^x'"},
		"values":         {"comment: {type: string}", "comment: {type: string, enum: [x]}", "spec.schema.properties.comment.enum: is new", "uses is in the way: spec.comment: "},
		"a rule":         {"comment: {type: string}", "comment: {type: string, x-kubernetes-validations: [{rule: self == 'x', message: it must be x}]}", "spec.schema.properties.comment.x-kubernetes-validations: has a new rule", "uses is in the way: spec.comment: it must be x"},
		"a field needed": {"required: [template]", "required: [template, replicas]", "spec.schema.required: asks for \"replicas\"", "uses is in the way: spec.replicas is missing"},
	} {
		define(tc.edit, tc.instead)
		_, message := c.awaitDefinition("narrow", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
		require.Contains(t, message, tc.what, name)
		require.Contains(t, message, tc.why, name)
		require.Contains(t, message, "Until this is mended, jobs are compiled by revision ", name)
		f, stands := c.awaitDefinition("narrow", v1beta1.FrameworkReady, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
		require.Contains(t, stands, tc.what, name)
		c.awaitEvent(f, "Warning "+v1beta1.ReasonInvalidDefinition, tc.what)
	}
	_, message := c.awaitDefinition("narrow", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	require.Contains(t, message, "The newest edit is refused, and compiles none")
	require.Equal(t, made.Generation, c.crd(kind).Generation)
	edit(true, "spec", "runMode", "pause", "enabled")
	c.awaitJAX(job, v1beta1.JobPaused)

	// What all jobs keep may come, and what none has may go.
	define("maximum: 10000", "maximum: 2", "comment: {type: string}", "comment: {type: string, maxLength: 9}")
	c.awaitDefinition("narrow", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	require.InDelta(t, 2, *c.crd(kind).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties["replicas"].Maximum, 0)
	edit(false, "spec", "runMode", "pause", "enabled")
	c.awaitJAX(job, v1beta1.JobRunning)
	require.NoError(t, c.Delete(c.ctx, job))
	c.until("the job is gone", func() bool { return c.gone(job) })
	define("maximum: 10000", "maximum: 2", "      comment: {type: string}\n", "")
	c.awaitDefinition("narrow", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	require.NotContains(t, c.crd(kind).Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "comment")
}
