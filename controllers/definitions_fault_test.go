package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestBadDefinitionsDisturbNobody(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	good, bad, worse := newKind("GoodJob"), newKind("BadJob"), newKind("WorseJob")
	for _, kind := range []v1beta1.FrameworkKind{good, bad, worse} {
		c.installKind(kind)
		c.grantKind(kind)
	}
	c.define("bad", bad, "job.spec.?replicas", "job.spec.?replica", "restartScope: Job", "restartScop: Job")
	c.define("worse", worse, "portNumber('jax', 'jax', 6666)", "portNumber('jax')")
	c.define("good", good)
	c.awaitDefinition("bad", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonNotAccepted) // its kind is there
	_, message := c.awaitDefinition("bad", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Equal(t, "spec.genericJob.replicaSpecs[0].replicas: undefined field 'replica' (character 9)\nspec.genericJob.restartScop: there is no such field", message)
	_, message = c.awaitDefinition("worse", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.variables[0].expression: found no matching overload for 'portNumber'")
	c.awaitJAX(c.submitJAX(good, "good", "[]"), v1beta1.JobRunning)

	// A mistake in an edit: what was accepted goes on.
	c.define("good", good, "restartScope: Job", "restartScop: Job")
	_, message = c.awaitDefinition("good", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "Until this is mended, jobs are compiled by revision ")
	c.awaitDefinition("good", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.awaitJAX(c.submitJAX(good, "another", "[]"), v1beta1.JobRunning)

	c.define("bad", bad)
	c.awaitJAX(c.submitJAX(bad, "mended", "[]"), v1beta1.JobRunning)
}

func TestAJobForWhichAnExpressionIsTooDearFailsAlone(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("DearJob")
	c.installKind(kind)
	c.grantKind(kind)
	const args = "job.spec.template.spec.containers[0].?args.orValue([])"
	c.define("dear", kind, "  validations:", "  validations:\n    - expression: "+args+".all(a, "+args+".all(b, a + b != 'x'))\n      message: never")
	c.awaitDefinition("dear", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.installKind(newKind("DearerJob"))
	c.define("dearer", newKind("DearerJob"), "  validations:", "  validations:\n    - expression: "+args+".all(a, "+args+".all(b, "+args+".all(c, a + b + c != 'x')))\n      message: never")
	_, message := c.awaitDefinition("dearer", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.validations[0].expression: may cost up to ")
	dear := c.submitJAX(kind, "dear", "["+strings.Repeat("abc,", 1000)+"]")
	c.awaitJAX(c.submitJAX(kind, "cheap", "[abc]"), v1beta1.JobRunning)
	c.awaitJAX(dear, v1beta1.JobFailed)
	raw, err := dear.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(raw), "spec.validations[0].expression: the expression costs more than 1000000 for this job: it takes too long")
	require.Contains(t, string(raw), `"reason":"InvalidDefinition"`)
	require.Contains(t, string(raw), "TrainingFramework dear is at fault, and not the job: spec.validations[0].expression: ")
}

// TestWhatNoTypeTellsIsTheDefinitionsFault: no user could mend it, and the job says who can.
func TestWhatNoTypeTellsIsTheDefinitionsFault(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("FaultJob")
	c.installKind(kind)
	c.grantKind(kind)
	c.define("fault", kind, "${job.spec.?replicas.orValue(1)}", "${dyn(job.spec).nope}")
	c.awaitDefinition("fault", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "blameless", "[]")
	c.awaitJAX(job, v1beta1.JobFailed)
	const message = "TrainingFramework fault is at fault, and not the job: spec.genericJob.replicaSpecs[0].replicas: no such key: nope. Tell a cluster admin, who has to mend the definition."
	c.awaitEvent(job, "Warning Failed", message)
	raw, err := job.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(raw), `"reason":"InvalidDefinition"`)

	// The types do tell of this: such a definition compiles no job.
	c.define("fault", kind, "${job.spec.?replicas.orValue(1)}", "${job.spec.replicas}", "restartPolicy('OnFailure')", "restartPolicy('Onfailure')", "findContainer('jax')", "findContainer('jaxx')")
	f, told := c.awaitDefinition("fault", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	for _, mistake := range []string{
		"spec.genericJob.replicaSpecs[0].replicas: a job may leave out replicas", "restartPolicy.policy: is Onfailure: ", "a template of the job may have no container named jax",
	} {
		require.Contains(t, told, mistake)
	}
	c.awaitEvent(f, "Warning "+v1beta1.ReasonInvalidDefinition, "a job may leave out replicas")
}
